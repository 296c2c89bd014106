#pragma once

#include <sys/types.h>

#include <chrono>
#include <vector>

namespace cove::os {

// Every process below `root`, without it, stands still as long as this lives: by SIGSTOP, and at the end SIGCONT to
// exactly those that it has stopped. One that was stopped already, by a user's Ctrl-Z or by a debugger, stays so.
//
// What is made meanwhile is stopped, too. One that hangs in the kernel stops when it comes out of it: nobody waits for
// that, nor longer than `limit` for all.
class [[nodiscard]] Frozen {
 public:
  explicit Frozen(pid_t root, std::chrono::milliseconds limit = std::chrono::milliseconds(50));
  ~Frozen();
  Frozen(const Frozen&) = delete;
  Frozen& operator=(const Frozen&) = delete;

 private:
  struct Stopped {
    pid_t pid;
    unsigned long long began;
  };
  bool all_stand(pid_t root);
  bool is_ours(pid_t pid, unsigned long long began) const;

  std::vector<Stopped> stopped_;
};

}  // namespace cove::os
