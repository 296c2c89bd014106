#include "backend/guest_path.h"

#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>

namespace cove {
namespace {

std::string& the_folder() {
  static std::string folder;
  return folder;
}

Result<std::string> own_folder() {
  if (!program_folder().empty()) return program_folder();
  std::array<char, PATH_MAX> self{};
  const ssize_t n = readlink("/proc/self/exe", self.data(), self.size());
  if (n <= 0) return fail_errno("find this program's own path");
  std::string folder(self.data(), static_cast<std::size_t>(n));
  folder.resize(folder.rfind('/'));
  return folder;
}

}  // namespace

void set_program_folder(std::string folder) { the_folder() = std::move(folder); }
const std::string& program_folder() { return the_folder(); }

Result<std::string> find_companion(const std::string& name, const std::string& variable) {
  if (const char* named = std::getenv(variable.c_str()); named != nullptr && *named != '\0') {
    if (access(named, X_OK) == 0) return std::string(named);
    return fail(Errc::not_found, variable + " names " + named + ", which cannot be run");
  }
  COVE_TRY(const std::string folder, own_folder());
  for (const char* place : {"/", "/../libexec/cove/"}) {
    if (access((folder + place + name).c_str(), X_OK) == 0) return folder + place + name;
  }
  return fail(Errc::not_found, name + " is neither in " + folder + " nor in ../libexec/cove: install it, or set " +
                                   variable + " to its path");
}

Result<std::string> find_guest() { return find_companion("cove-guest", "COVE_GUEST"); }

}  // namespace cove
