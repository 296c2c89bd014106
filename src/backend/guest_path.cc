#include "backend/guest_path.h"

#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>

namespace cove {

Result<std::string> find_companion(const std::string& name, const std::string& variable) {
  if (const char* named = std::getenv(variable.c_str()); named != nullptr && *named != '\0') {
    if (access(named, X_OK) == 0) return std::string(named);
    return fail(Errc::not_found, variable + " names " + named + ", which cannot be run");
  }
  std::array<char, PATH_MAX> self{};
  const ssize_t n = readlink("/proc/self/exe", self.data(), self.size());
  if (n <= 0) return fail_errno("find this program's own path");
  std::string folder(self.data(), static_cast<std::size_t>(n));
  folder.resize(folder.rfind('/'));
  for (const char* place : {"/", "/../libexec/cove/"}) {
    if (access((folder + place + name).c_str(), X_OK) == 0) return folder + place + name;
  }
  return fail(Errc::not_found, name + " is neither in " + folder + " nor in ../libexec/cove: install it, or set " +
                                   variable + " to its path");
}

Result<std::string> find_guest() { return find_companion("cove-guest", "COVE_GUEST"); }

}  // namespace cove
