#include "backend/native/apart.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace cove::native {
namespace {

// One thread group, one set of files: it ends with exec at the latest. It shares this thread's errno, too; that is why
// acts give theirs back.
constexpr int kThread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;

#if defined(COVE_ADDRESS_SANITIZER)
constexpr bool kCanShare = false;  // the sanitizer's own state is per thread, and it does not know this one
#else
constexpr bool kCanShare = true;
#endif

}  // namespace

int Apart::enter(void* self) {
  auto& apart = *static_cast<Apart*>(self);
  apart.result_ = apart.act_(apart.argument_);
  apart.over_.store(1, std::memory_order_release);
  syscall(SYS_futex, &apart.over_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
  syscall(SYS_exit, 0);
  return 0;
}

void Apart::start(Act act, void* argument) {
  act_ = act;
  argument_ = argument;
  over_.store(0, std::memory_order_relaxed);
  if (kCanShare && clone(enter, stack_.data() + stack_.size(), kThread, this) >= 0) return;
  result_ = act(argument);
  over_.store(1, std::memory_order_relaxed);
}

int Apart::join() {
  while (over_.load(std::memory_order_acquire) == 0)
    syscall(SYS_futex, &over_, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
  return result_;
}

}  // namespace cove::native
