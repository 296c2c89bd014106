#include "os/mapped.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/child.h"
#include "os/clone.h"
#include "os/users.h"

namespace cove::os {
namespace {

// In the new user namespace, once somebody has mapped its ids: as root there.
int work_inside(int go, const std::function<bool()>& work) {
  char byte = 0;
  if (read(go, &byte, 1) != 1) return 1;
  if (syscall(SYS_setresgid, 0, 0, 0) < 0 || syscall(SYS_setresuid, 0, 0, 0) < 0) return 1;
  return work() ? 0 : 1;
}

}  // namespace

Result<void> as_mapped_root(const std::function<bool()>& work) {
  const Users users = find_users();
  if (users.more_uids.count == 0) return fail(Errc::denied, "there is no range of users in /etc/subuid");
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) return fail_errno("make a socket");
  UniqueFd ours(ends[0]), theirs(ends[1]);
  COVE_TRY(Cloned cloned, clone_process(CLONE_NEWUSER));
  if (cloned.pid == 0) {
    ours.reset();
    _exit(work_inside(theirs.get(), work));
  }
  Child child = Child::adopt(cloned.pid, std::move(cloned.pidfd));
  theirs.reset();
  const Deadline deadline = Deadline::after(std::chrono::seconds(60));
  COVE_CHECK(map_users(users, child.pid(), deadline));
  if (send(ours.get(), "g", 1, MSG_NOSIGNAL) != 1) return fail_errno("begin in a user namespace");
  COVE_TRY(const ExitStatus status, child.wait(deadline));
  if (status.code != 0) return fail(Errc::denied, "it could not be done in a user namespace either");
  return {};
}

}  // namespace cove::os
