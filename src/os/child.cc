#include "os/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>

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

Result<Child> Child::spawn(const ExecSpec& spec) {
  if (spec.argv.empty()) return fail(Errc::invalid, "spawn: no program given");
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return fail_errno("spawn " + spec.argv[0] + ": pipe");
  UniqueFd error_in(ends[0]), error_out(ends[1]);
  const PreparedExec prepared(spec);
  const pid_t pid = fork();
  if (pid < 0) return fail_errno("spawn " + spec.argv[0] + ": fork");
  if (pid == 0) {
    prepared.run(error_out.get());
    _exit(127);
  }
  error_out.reset();
  Child child(pid, open_pidfd(pid));
  if (!child.pidfd_) {
    const Error error = errno_error(errno, "pidfd_open");
    ::kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    return fail(error);
  }
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
  if (syscall(SYS_pidfd_send_signal, pidfd_.get(), number, nullptr, 0) < 0) return fail_errno("signal the process");
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
