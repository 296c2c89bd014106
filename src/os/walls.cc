#include "os/walls.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

#include "os/landlock.h"
#include "os/seccomp.h"

namespace cove::os {
namespace {

// Under no_new_privs an exec never adds to the permitted set, not even for root; the bounding set is dropped on top
// where that is allowed.
bool drop_capabilities() {
  for (int capability = 0; prctl(PR_CAPBSET_READ, capability) >= 0; ++capability) prctl(PR_CAPBSET_DROP, capability);
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const std::array<__user_cap_data_struct, 2> none{};
  return syscall(SYS_capset, &header, none.data()) == 0;
}

}  // namespace

bool give_up_rights(const Walls& walls) {
  constexpr rlimit kNoCore{0, 0};
  if (setrlimit(RLIMIT_CORE, &kNoCore) < 0) return false;
  if (!drop_capabilities() || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return false;
  return walls.ruleset < 0 || enter_ruleset(walls.ruleset);
}

bool give_up_calls(const Walls& walls) { return walls.filter.empty() || install_filter(walls.filter); }

}  // namespace cove::os
