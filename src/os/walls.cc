#include "os/walls.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include "os/capabilities.h"
#include "os/landlock.h"
#include "os/seccomp.h"

namespace cove::os {
bool give_up_rights(const Walls& walls) {
  constexpr rlimit kNoCore{0, 0};
  if (setrlimit(RLIMIT_CORE, &kNoCore) < 0) return false;
  // Under no_new_privs an exec never adds to the permitted set, not even for root; the bounding set is dropped on top
  // where that is allowed.
  (void)bound_capabilities({});
  if (!set_capabilities({}) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return false;
  return walls.ruleset < 0 || enter_ruleset(walls.ruleset);
}

bool give_up_calls(const Walls& walls) { return walls.filter.empty() || install_filter(walls.filter); }

}  // namespace cove::os
