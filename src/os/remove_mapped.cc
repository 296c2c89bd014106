#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/child.h"
#include "os/clone.h"
#include "os/remove_tree.h"
#include "os/users.h"

namespace cove::os {
namespace {

// In the new user namespace, once somebody has mapped its ids: as root there.
int remove_inside(int go, int parent, const std::string& name) {
  char byte = 0;
  if (read(go, &byte, 1) != 1) return 1;
  if (syscall(SYS_setresgid, 0, 0, 0) < 0 || syscall(SYS_setresuid, 0, 0, 0) < 0) return 1;
  return remove_tree_at(parent, name) ? 0 : 1;
}

}  // namespace

Result<void> remove_mapped_tree_at(int parent, const std::string& name) {
  auto plainly = remove_tree_at(parent, name);
  if (plainly || plainly.error().code != Errc::denied) return plainly;
  const Users users = find_users();
  if (users.more_uids.count == 0) return plainly;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) return fail_errno("make a socket");
  UniqueFd ours(ends[0]), theirs(ends[1]);
  COVE_TRY(Cloned cloned, clone_process(CLONE_NEWUSER));
  if (cloned.pid == 0) {
    ours.reset();
    _exit(remove_inside(theirs.get(), parent, name));
  }
  Child child = Child::adopt(cloned.pid, std::move(cloned.pidfd));
  theirs.reset();
  const Deadline deadline = Deadline::after(std::chrono::seconds(60));
  COVE_CHECK(map_users(users, child.pid(), deadline));
  if (send(ours.get(), "g", 1, MSG_NOSIGNAL) != 1) return fail_errno("remove " + name);
  COVE_TRY(const ExitStatus status, child.wait(deadline));
  return status.code == 0 ? Result<void>() : plainly;
}

}  // namespace cove::os
