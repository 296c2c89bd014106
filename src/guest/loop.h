#pragma once

// One epoll instance and a handful of timers. Handlers are called one after the other; a handler may watch, change and
// forget any descriptor, also its own: events of a forgotten one are dropped, even if its number is in use again.

#include <sys/epoll.h>

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "base/deadline.h"
#include "base/unique_fd.h"

namespace cove::guest {

class Loop {
 public:
  using Handler = std::function<void(std::uint32_t events)>;
  using Timer = std::uint64_t;  // 0 is none

  Loop();
  void watch(int fd, std::uint32_t events, Handler handler);
  void change(int fd, std::uint32_t events);
  void forget(int fd);

  Timer after(Clock::duration wait, std::function<void()> action);
  void cancel(Timer& timer);

  // Waits for events and handles them.
  void turn();

 private:
  struct Watch {
    Handler handler;
    std::uint32_t generation = 0;
    bool active = false;
  };
  void run_timers();

  UniqueFd epoll_;
  std::vector<Watch> watches_;  // by descriptor
  std::map<std::pair<Clock::time_point, Timer>, std::function<void()>> timers_;
  std::map<Timer, Clock::time_point> due_;
  Timer last_timer_ = 0;
};

}  // namespace cove::guest
