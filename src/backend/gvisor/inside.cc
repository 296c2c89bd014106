#include "backend/gvisor/inside.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "backend/gvisor/enter.h"
#include "os/clone.h"

namespace cove::gvisor {
namespace {

struct Namespaces {
  UniqueFd user, pid, mounts, network;
};

Result<Namespaces> open_namespaces(pid_t of) {
  const auto open_one = [&](const char* kind) {
    return UniqueFd(open(("/proc/" + std::to_string(of) + "/ns/" + kind).c_str(), O_RDONLY | O_CLOEXEC));
  };
  // Its children's pid namespace is the one that it is in: it has entered no other.
  Namespaces all{open_one("user"), open_one("pid"), open_one("mnt"), open_one("net")};
  if (!all.user || !all.pid || !all.mounts || !all.network) return fail_errno("open the sandbox's namespaces");
  return all;
}

bool enter_namespaces(const Namespaces& all) {
  // The rest is done by the rights that the first one gives.
  if (setns(all.user.get(), CLONE_NEWUSER) < 0) return false;
  syscall(SYS_setgroups, 0, nullptr);
  return syscall(SYS_setresgid, 0, 0, 0) == 0 && syscall(SYS_setresuid, 0, 0, 0) == 0 &&
         setns(all.network.get(), CLONE_NEWNET) == 0 && setns(all.pid.get(), CLONE_NEWPID) == 0 &&
         setns(all.mounts.get(), CLONE_NEWNS) == 0;
}

[[noreturn]] void become(const InsideSpec& spec, char* const* argv) {
  os::reset_signals();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const std::array<int, 4> from{spec.in, spec.out, spec.err, spec.extra < 0 ? spec.err : spec.extra};
  std::array<int, 4> lifted{};
  for (std::size_t i = 0; i < from.size(); ++i) lifted[i] = fcntl(from[i], F_DUPFD_CLOEXEC, 100);
  const int program = fcntl(spec.program, F_DUPFD_CLOEXEC, 100);
  for (int fd = 0; fd < 3; ++fd) dup2(lifted[static_cast<std::size_t>(fd)], fd);
  dup2(lifted[3], kImageFd);
  close(3);
  if (syscall(SYS_close_range, kImageFd + 1, ~0U, CLOSE_RANGE_CLOEXEC) < 0) {
    for (int fd = kImageFd + 1; fd < 1024; ++fd) fcntl(fd, F_SETFD, FD_CLOEXEC);
  }
  static char* const env[] = {nullptr};
  syscall(SYS_execveat, program, "", argv, env, AT_EMPTY_PATH);
  _exit(127);
}

// A pid namespace is for children only; one by CLONE_PARENT is not this process's but its parent's.
void spawn_from(const Namespaces& all, const InsideSpec& spec, char* const* argv, int tell) {
  pid_t made = -1;
  if (enter_namespaces(all)) {
    made = static_cast<pid_t>(syscall(SYS_clone, CLONE_PARENT | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
    if (made == 0) become(spec, argv);
  }
  const std::pair<pid_t, int> word{made, errno};
  [[maybe_unused]] const auto n = write(tell, &word, sizeof(word));
}

}  // namespace

Result<os::Child> run_inside(const InsideSpec& spec) {
  COVE_TRY(const Namespaces all, open_namespaces(spec.of));
  std::vector<char*> argv;
  for (const std::string& word : spec.line) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return fail_errno("make a pipe");
  const UniqueFd in(ends[0]);
  UniqueFd out(ends[1]);
  COVE_TRY(os::Cloned cloned, os::clone_process(0));
  if (cloned.pid == 0) {
    spawn_from(all, spec, argv.data(), out.get());
    _exit(0);
  }
  out.reset();
  os::Child between = os::Child::adopt(cloned.pid, std::move(cloned.pidfd));
  std::pair<pid_t, int> word{-1, EIO};
  if (read(in.get(), &word, sizeof(word)) != sizeof(word)) word = {-1, ECHILD};
  COVE_CHECK(between.wait(Deadline::after(std::chrono::seconds(5))));
  if (word.first < 0) return fail(errno_error(word.second, "enter the sandbox's namespaces"));
  return os::Child::adopt(word.first, os::open_pidfd(word.first));
}

}  // namespace cove::gvisor
