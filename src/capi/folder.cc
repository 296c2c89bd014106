// The library finds its programs by where it lies itself: beside it in a Python wheel and in a build folder, in ../bin
// where it is installed, or ../../bin where libraries have a folder for each kind of machine, as Debian has it.

#include <dlfcn.h>
#include <unistd.h>

#include <string>

#include "backend/guest_path.h"

namespace {

[[maybe_unused]] const bool kLooked = [] {
  Dl_info about{};
  if (dladdr(reinterpret_cast<const void*>(&cove::set_program_folder), &about) == 0 || about.dli_fname == nullptr)
    return false;
  std::string folder = about.dli_fname;
  if (folder.find('/') == std::string::npos) return false;
  folder.resize(folder.rfind('/'));
  for (const char* place : {"", "/../bin", "/../../bin"}) {
    if (access((folder + place + "/cove").c_str(), X_OK) != 0) continue;
    cove::set_program_folder(folder + place);
    return true;
  }
  return false;
}();

}  // namespace
