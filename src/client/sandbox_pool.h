#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include "client/cove.h"

namespace cove {

// Sandboxes that are made before they are needed, each with a shell that waits for its first command. Calls may be made
// from any number of threads.
class SandboxPool {
 public:
  // Begins to make `size` sandboxes in the background and keeps as many ready. They are all `owned`, whatever the spec
  // says, and get names of their own: a spec with a name makes every take() fail.
  SandboxPool(SandboxSpec spec, std::size_t size);
  // Ends those that were not taken; one that is being made ends by itself, a moment later. Those that were taken are
  // their takers'.
  ~SandboxPool();
  SandboxPool(const SandboxPool&) = delete;
  SandboxPool& operator=(const SandboxPool&) = delete;

  // One that is ready, at once, while another one is made for the next call. When none is ready, the error that the
  // last attempt in the background met (once; the next call tries anew), else one made now.
  Result<Sandbox> take(const Call& call = {});
  std::size_t ready() const;

 private:
  void fill(const std::stop_token& stop);
  Result<Sandbox> make(const Call& call) const;
  std::optional<Sandbox> take_ready(std::vector<Sandbox>& ended);

  SandboxSpec spec_;
  const std::size_t size_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Sandbox> ready_;
  std::optional<Error> error_;  // of the last attempt in the background; none is made until somebody has taken
  Clock::time_point fill_at_{};
  std::jthread filler_;  // last: it uses all of the others
};

}  // namespace cove
