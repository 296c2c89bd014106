#pragma once

#include <optional>
#include <string>

#include "base/deadline.h"
#include "base/error.h"
#include "base/unique_fd.h"
#include "os/exec.h"

namespace cove::os {

// How a process ended.
struct ExitStatus {
  int code = 0;              // when it exited
  int signal = 0;            // when a signal ended it; then code is 128 + signal
  std::string text() const;  // "exited with 3", "was killed by signal 9"
};

// Identity is the pidfd, so a signal can never reach a stranger that was given the same number.
// Destroying a Child that still runs kills and reaps it: a supervisor leaves no orphans.
class [[nodiscard]] Child {
 public:
  static Result<Child> spawn(const ExecSpec& spec);
  // One that was made by other means, with its pidfd.
  static Child adopt(pid_t pid, UniqueFd pidfd) { return Child(pid, std::move(pidfd)); }

  Child(Child&&) noexcept = default;
  Child& operator=(Child&&) noexcept;
  ~Child();

  pid_t pid() const { return pid_; }
  int pidfd() const { return pidfd_.get(); }  // readable when it has ended
  bool running() const { return pidfd_ && !status_; }
  Result<void> signal(int number);
  // nullopt: it still runs.
  std::optional<ExitStatus> poll();
  Result<ExitStatus> wait(Deadline deadline);
  // Leaves it running, unreaped: it is somebody else's from here.
  void disown() { pidfd_.reset(); }

 private:
  Child(pid_t pid, UniqueFd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}

  pid_t pid_ = -1;
  UniqueFd pidfd_;
  std::optional<ExitStatus> status_;
};

// pidfd_open, for a process that is known not to have been reaped.
UniqueFd open_pidfd(pid_t pid);
// A handle that is good for signal_by_handle only: also where pidfd_open is refused. None: there is no such process.
UniqueFd open_to_signal(pid_t pid);
bool signal_by_handle(int handle, int number);

}  // namespace cove::os
