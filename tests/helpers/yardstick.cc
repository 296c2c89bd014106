#include "yardstick.h"

#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdint>

#include "home.h"

namespace cove::testing_helpers {
namespace {

using Now = std::chrono::steady_clock;

// The shortest that one piece takes here is 4.2 ms; on a slower machine the factor is above 1 without any load.
constexpr Seconds kIdlePiece{0.005};
constexpr std::chrono::milliseconds kPause{15};

// Longer than a scheduler's slice, so that it waits for its turn as the product's programs do.
void compute() {
  volatile std::uint32_t state = 1;
  for (int i = 0; i < 2'500'000; ++i) state = state * 1664525 + 1013904223;
}

void start_program() {
  char name[] = "true";
  char* argv[] = {name, nullptr};
  char* nothing[] = {nullptr};  // with our environment it would be taken for one of the product's processes
  pid_t child = 0;
  if (posix_spawn(&child, "/bin/true", nullptr, nullptr, argv, nothing) == 0) waitpid(child, nullptr, 0);
}

double measure_piece() {
  const auto begin = Now::now();
  compute();
  start_program();
  return Seconds(Now::now() - begin) / kIdlePiece;
}

}  // namespace

Yardstick::Yardstick() : thread_([this] { measure(); }) {}

Yardstick::~Yardstick() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Yardstick::measure() {
  std::unique_lock lock(mutex_);
  while (!over_) {
    lock.unlock();
    const double factor = measure_piece();
    lock.lock();
    factor_ = std::max({factor_, factor, 1.0});
    changed_.notify_all();
    changed_.wait_for(lock, kPause, [this] { return over_; });
  }
}

double Yardstick::factor() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return factor_ > 0; });
  return factor_;
}

Seconds Yardstick::stretched(Seconds promise) const { return promise * factor() * slack(); }

std::string too_slow(Seconds promise, const std::function<Seconds()>& attempt) {
  std::string times;
  for (int tries = 0; tries < 3; ++tries) {
    const Yardstick yardstick;
    const Seconds took = attempt();
    const Seconds limit = yardstick.stretched(promise);
    if (took <= limit) return "";
    times += std::to_string(took.count()) + " s of " + std::to_string(limit.count()) + " s; ";
  }
  return times + "promised: " + std::to_string(promise.count()) + " s on an idle machine";
}

}  // namespace cove::testing_helpers
