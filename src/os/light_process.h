#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/error.h"
#include "base/unique_fd.h"

namespace cove::os {

// A process that shares the memory of the one that starts it: a fork that copies nothing, so it costs a fraction of
// one, and nobody pays later for what he writes. It has a stack and an errno of its own. As after vfork nothing in it
// may allocate or take a lock; unlike there the parent goes on at once. (Under a sanitizer, or where it is not known
// how to give it an errno, it is a fork.)
class LightProcess {
 public:
  // `entry(argument)` runs in it and returns its exit code.
  static Result<LightProcess> start(int (*entry)(void*), void* argument) { return start_in(0, entry, argument); }
  // The same in new namespaces, with a pidfd.
  static Result<LightProcess> start_in(std::uint64_t namespaces, int (*entry)(void*), void* argument);
  // What is written after the start is seen in it, too.
  static bool shares_memory();
  LightProcess() = default;
  LightProcess(LightProcess&& other) noexcept;
  LightProcess& operator=(LightProcess&& other) noexcept;
  ~LightProcess();  // it has ended

  pid_t pid() const { return pid_; }
  UniqueFd take_pidfd() { return std::move(pidfd_); }
  // It may run on when this object is gone.
  void leave() { memory_ = nullptr; }

 private:
  pid_t pid_ = 0;
  UniqueFd pidfd_;
  char* memory_ = nullptr;
};

}  // namespace cove::os
