#include "client/sandbox_pool.h"

namespace cove {
namespace {

// A taker's first command runs now; what is made for the next one need not compete with it.
constexpr std::chrono::milliseconds kCourtesy{10};

}  // namespace

SandboxPool::SandboxPool(SandboxSpec spec, std::size_t size) : spec_(std::move(spec)), size_(size) {
  spec_.owned = spec_.prepared = true;
  filler_ = std::jthread([this](const std::stop_token& stop) { fill(stop); });
}

SandboxPool::~SandboxPool() {
  filler_.request_stop();
  filler_.join();
}

Result<Sandbox> SandboxPool::make(const Call& call) const {
  if (!spec_.name.empty()) return fail(Errc::invalid, "the sandboxes of a pool cannot all be called " + spec_.name);
  return Sandbox::create(spec_, call);
}

void SandboxPool::fill(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, stop, [this] { return ready_.size() < size_ && !error_; });
    while (Clock::now() < fill_at_ && !stop.stop_requested())
      changed_.wait_until(lock, stop, fill_at_, [] { return false; });
    if (stop.stop_requested()) return;
    lock.unlock();
    auto made = make({.deadline = Deadline::never(), .stop = stop});
    lock.lock();
    if (made)
      ready_.push_back(std::move(*made));
    else if (!stop.stop_requested())
      error_ = std::move(made).error();
  }
}

// The oldest one that still runs: a sandbox may have reached its maximum duration while it waited.
std::optional<Sandbox> SandboxPool::take_ready(std::vector<Sandbox>& ended) {
  while (!ready_.empty()) {
    Sandbox sandbox = std::move(ready_.front());
    ready_.pop_front();
    if (!sandbox.hung_up()) return sandbox;
    ended.push_back(std::move(sandbox));
  }
  return std::nullopt;
}

Result<Sandbox> SandboxPool::take(const Call& call) {
  std::optional<Sandbox> sandbox;
  std::optional<Error> error;
  std::vector<Sandbox> ended;  // removed without holding anybody up
  {
    const std::lock_guard guard(mutex_);
    sandbox = take_ready(ended);
    fill_at_ = Clock::now() + kCourtesy;
    error = std::exchange(error_, std::nullopt);
  }
  changed_.notify_all();
  for (const Sandbox& one : ended) [[maybe_unused]]
    const auto removed = Sandbox::remove(one.name());
  if (sandbox) return std::move(*sandbox);
  if (error) return fail(std::move(*error));
  return make(call);
}

std::size_t SandboxPool::ready() const {
  const std::lock_guard guard(mutex_);
  return ready_.size();
}

}  // namespace cove
