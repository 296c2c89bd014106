#include "backend/native/program.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/clone.h"

namespace cove::native {

// The child has copies of what is opened here; nothing of it is needed on this side.
Result<Launched> launch(ProgramPlan& plan, const LaunchSpec& spec, Deadline deadline) {
  const UniqueFd opened(open(spec.program.c_str(), O_PATH | O_CLOEXEC));
  if (!opened) return fail_errno("open " + spec.program);
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  UniqueFd log(memfd_create("cove-log", MFD_CLOEXEC));
  int ends[2];
  if (!null || !log || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
    return fail_errno("make a socket for " + spec.program);
  UniqueFd ours(ends[0]), theirs(ends[1]);
  plan.program = opened.get();
  plan.null = null.get();
  plan.log = log.get();
  plan.sync = theirs.get();
  plan.keepers_sync = ours.get();
  COVE_TRY(os::Cloned cloned, os::clone_process(spec.namespaces));
  if (cloned.pid == 0) {
    walk(plan, spec.steps);
    _exit(1);
  }
  os::Child child = os::Child::adopt(cloned.pid, std::move(cloned.pidfd));
  theirs.reset();
  if (spec.limits != nullptr) COVE_CHECK(spec.limits->add(child.pid()));
  COVE_CHECK(os::map_users(spec.users, child.pid(), deadline));
  return Launched{std::move(child), std::move(ours), std::move(log)};
}

}  // namespace cove::native
