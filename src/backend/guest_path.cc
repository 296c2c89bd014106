#include "backend/guest_path.h"

#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>

namespace cove {

Result<std::string> find_guest() {
  if (const char* named = std::getenv("COVE_GUEST"); named != nullptr && *named != '\0') {
    if (access(named, X_OK) == 0) return std::string(named);
    return fail(Errc::not_found, std::string("COVE_GUEST names ") + named + ", which cannot be run");
  }
  std::array<char, PATH_MAX> self{};
  const ssize_t n = readlink("/proc/self/exe", self.data(), self.size());
  if (n <= 0) return fail_errno("find this program's own path");
  std::string folder(self.data(), static_cast<std::size_t>(n));
  folder.resize(folder.rfind('/'));
  for (const char* place : {"/cove-guest", "/../libexec/cove/cove-guest"}) {
    if (access((folder + place).c_str(), X_OK) == 0) return folder + place;
  }
  return fail(Errc::not_found, "cove-guest is neither in " + folder +
                                   " nor in ../libexec/cove: install it, or set "
                                   "COVE_GUEST to its path");
}

}  // namespace cove
