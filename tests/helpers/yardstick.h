#pragma once

// Limits in time on a machine that may be busy.
//
// A limit that only shows that nothing hangs is kPatience (process.h), and what it is compared with lasts far longer.
// A limit that is a promise of the product ("an interrupt takes at most 1.5 s") holds on an idle machine. It is
// stretched by how much longer than on an idle machine a known piece of work takes at the same time.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "process.h"

namespace cove::testing_helpers {

// Repeats the known piece of work beside the test, from its making to its end.
class Yardstick {
 public:
  Yardstick();
  ~Yardstick();
  Yardstick(const Yardstick&) = delete;
  Yardstick& operator=(const Yardstick&) = delete;

  // The limit on this machine since the yardstick was made: `promise` times factor() times slack().
  Seconds stretched(Seconds promise) const;
  // The slowest piece of work so far compared with an idle machine; at least 1. Waits for the first piece.
  double factor() const;

 private:
  void measure();

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  double factor_ = 0;  // 0: nothing was measured yet
  bool over_ = false;
  std::thread thread_;
};

// Runs `attempt`, which returns how long something took, beside a yardstick, up to three times. "" if it kept to the
// stretched promise once, otherwise the times.
std::string too_slow(Seconds promise, const std::function<Seconds()>& attempt);

}  // namespace cove::testing_helpers
