#pragma once

#include <atomic>
#include <optional>
#include <stop_token>

#include "client/cove.h"

namespace cove {

// What other threads and signal handlers leave for the call that runs: flags, and an eventfd that wakes its poll().
// Everything here is atomic and a write(2), so a signal handler may use it.
struct Control::State {
  State();
  void wake() const;
  void drain() const;

  UniqueFd event;
  std::atomic<bool> interrupt{false};
  std::atomic<std::uint64_t> signals{0};  // bit n: signal n
  std::atomic<std::uint32_t> size{0};     // rows << 16 | columns; 0: unchanged
};

// A stop token as a descriptor for poll(). A token that can never stop costs nothing.
class StopEvent {
 public:
  explicit StopEvent(const std::stop_token& token);
  int fd() const { return event_.get(); }  // readable once stopped; -1 if that cannot happen

 private:
  struct Write {
    int fd;
    void operator()() const;
  };
  UniqueFd event_;
  std::optional<std::stop_callback<Write>> callback_;
};

}  // namespace cove
