#include "os/clone.h"

#include <linux/sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace cove::os {

Result<Cloned> clone_process(std::uint64_t namespaces) {
  int pidfd = -1;
  clone_args arguments{};
  arguments.flags = namespaces | CLONE_PIDFD;
  arguments.pidfd = reinterpret_cast<std::uint64_t>(&pidfd);
  arguments.exit_signal = SIGCHLD;
  long pid = syscall(SYS_clone3, &arguments, sizeof(arguments));
  if (pid < 0 && errno == ENOSYS) {
    pid = syscall(SYS_clone, namespaces | CLONE_PIDFD | SIGCHLD, nullptr, &pidfd, nullptr, nullptr);
  }
  if (pid < 0) return fail_errno(namespaces == 0 ? "make a process" : "make new namespaces");
  return Cloned{static_cast<pid_t>(pid), pid == 0 ? UniqueFd() : UniqueFd(pidfd)};
}

}  // namespace cove::os
