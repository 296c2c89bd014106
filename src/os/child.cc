#include "os/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>

#include "os/clone.h"

namespace cove::os {
namespace {

// glibc 2.36 has no P_PIDFD wrapper in C++ without <sys/pidfd.h>; the number is part of the kernel's interface.
constexpr auto kPidfdId = static_cast<idtype_t>(3);

ExitStatus status_of(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return {.code = info.si_status, .signal = 0};
  return {.code = 128 + info.si_status, .signal = info.si_status};
}

}  // namespace

std::string ExitStatus::text() const {
  if (signal != 0) return "was killed by signal " + std::to_string(signal);
  return "exited with " + std::to_string(code);
}

UniqueFd open_pidfd(pid_t pid) { return UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))); }

// A directory of /proc will do as well (Linux 5.1): it stays the same process's, too.
UniqueFd open_to_signal(pid_t pid) {
  UniqueFd handle = open_pidfd(pid);
  if (handle || errno != ENOSYS) return handle;
  return UniqueFd(open(("/proc/" + std::to_string(pid)).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

bool signal_by_handle(int handle, int number) {
  return syscall(SYS_pidfd_send_signal, handle, number, nullptr, 0) == 0;
}

namespace {

// fork() is what libraries and sanitizers know about. Without pidfd_open the handle has to come with the process.
Result<Cloned> fork_with_handle() {
  static const bool can_open = open_pidfd(getpid()) || errno != ENOSYS;
  if (!can_open) return clone_process(0);
  Cloned forked{fork(), UniqueFd()};
  if (forked.pid < 0) return fail_errno("fork");
  if (forked.pid > 0) forked.pidfd = open_pidfd(forked.pid);
  if (forked.pid == 0 || forked.pidfd) return forked;
  const Error error = errno_error(errno, "pidfd_open");
  kill(forked.pid, SIGKILL);
  waitpid(forked.pid, nullptr, 0);
  return fail(error);
}

}  // namespace

Result<Child> Child::spawn(const ExecSpec& spec) {
  if (spec.argv.empty()) return fail(Errc::invalid, "spawn: no program given");
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return fail_errno("spawn " + spec.argv[0] + ": pipe");
  UniqueFd error_in(ends[0]), error_out(ends[1]);
  const PreparedExec prepared(spec);
  auto cloned = fork_with_handle();
  if (!cloned) return fail(std::move(cloned).error().because("spawn " + spec.argv[0]));
  if (cloned->pid == 0) {
    prepared.run(error_out.get());
    _exit(127);
  }
  error_out.reset();
  Child child(cloned->pid, std::move(cloned->pidfd));
  COVE_CHECK(PreparedExec::read_failure(error_in.get(), spec));
  return child;
}

Child& Child::operator=(Child&& other) noexcept {
  if (this != &other) {
    Child old(std::move(*this));
    pid_ = other.pid_;
    pidfd_ = std::move(other.pidfd_);
    status_ = other.status_;
  }
  return *this;
}

Child::~Child() {
  if (!running()) return;
  [[maybe_unused]] const auto sent = signal(SIGKILL);
  siginfo_t info{};
  while (waitid(kPidfdId, static_cast<id_t>(pidfd_.get()), &info, WEXITED) < 0 && errno == EINTR) {}
}

Result<void> Child::signal(int number) {
  if (status_) return fail(Errc::not_found, "the process has ended");
  if (!signal_by_handle(pidfd_.get(), number)) return fail_errno("signal the process");
  return {};
}

std::optional<ExitStatus> Child::poll() {
  if (status_ || !pidfd_) return status_;
  siginfo_t info{};
  if (waitid(kPidfdId, static_cast<id_t>(pidfd_.get()), &info, WEXITED | WNOHANG) == 0 && info.si_pid != 0) {
    status_ = status_of(info);
  }
  return status_;
}

Result<ExitStatus> Child::wait(Deadline deadline) {
  bool ended = false;
  while (true) {
    if (auto status = poll()) return *status;
    if (!pidfd_) return fail(Errc::invalid, "the process was given away");
    // Otherwise this would spin: the pidfd stays readable, but the status is gone.
    if (ended) return fail(Errc::internal, "the process has ended, but its status was taken (is SIGCHLD ignored?)");
    pollfd wait{pidfd_.get(), POLLIN, 0};
    const int n = ::poll(&wait, 1, deadline.poll_timeout());
    if (n < 0 && errno != EINTR) return fail_errno("wait for the process");
    ended = n > 0;
    if (n == 0 && deadline.passed()) return fail(Errc::timeout, "the process still runs");
  }
}

}  // namespace cove::os
