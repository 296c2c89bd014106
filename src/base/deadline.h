#pragma once

#include <chrono>

namespace cove {

using Clock = std::chrono::steady_clock;

// A point in time after which waiting is over; immune to wall-clock jumps. Passed down, never renewed on the way.
class Deadline {
 public:
  static Deadline never() { return Deadline(Clock::time_point::max()); }
  // A wait too long for the clock is as good as never.
  static Deadline after(Clock::duration wait) {
    const auto now = Clock::now();
    return wait >= Clock::time_point::max() - now ? never() : Deadline(now + wait);
  }
  explicit Deadline(Clock::time_point at) : at_(at) {}

  Clock::time_point at() const { return at_; }
  bool is_never() const { return at_ == Clock::time_point::max(); }
  bool passed() const { return !is_never() && Clock::now() >= at_; }

  // What poll and epoll_wait take: -1 for never, rounded up so that a wait never ends just before its deadline.
  int poll_timeout() const {
    if (is_never()) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(at_ - Clock::now()).count();
    if (left <= 0) return 0;
    return left > 1'000'000'000 ? 1'000'000'000 : static_cast<int>(left);
  }

  friend Deadline earlier(Deadline a, Deadline b) { return a.at_ < b.at_ ? a : b; }

 private:
  Clock::time_point at_;
};

}  // namespace cove
