#include "guest/loop.h"

#include <array>
#include <utility>

namespace cove::guest {
namespace {

std::uint64_t tag(int fd, std::uint32_t generation) {
  return (std::uint64_t{generation} << 32) | static_cast<std::uint32_t>(fd);
}

}  // namespace

Loop::Loop() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {}

void Loop::watch(int fd, std::uint32_t events, Handler handler) {
  const auto at = static_cast<std::size_t>(fd);
  if (watches_.size() <= at) watches_.resize(at + 1);
  Watch& watch = watches_[at];
  watch.handler = std::move(handler);
  watch.active = true;
  ++watch.generation;
  epoll_event event{events, {.u64 = tag(fd, watch.generation)}};
  epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
}

void Loop::change(int fd, std::uint32_t events) {
  epoll_event event{events, {.u64 = tag(fd, watches_[static_cast<std::size_t>(fd)].generation)}};
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void Loop::forget(int fd) {
  if (fd < 0 || watches_.size() <= static_cast<std::size_t>(fd)) return;
  Watch& watch = watches_[static_cast<std::size_t>(fd)];
  if (!std::exchange(watch.active, false)) return;
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

Loop::Timer Loop::after(Clock::duration wait, std::function<void()> action) {
  const Timer timer = ++last_timer_;
  const auto at = Clock::now() + wait;
  timers_.emplace(std::pair{at, timer}, std::move(action));
  due_.emplace(timer, at);
  return timer;
}

void Loop::cancel(Timer& timer) {
  const auto due = due_.find(std::exchange(timer, 0));
  if (due == due_.end()) return;
  timers_.erase({due->second, due->first});
  due_.erase(due);
}

void Loop::turn() {
  std::array<epoll_event, 64> events{};
  const Deadline next = timers_.empty() ? Deadline::never() : Deadline(timers_.begin()->first.first);
  const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), next.poll_timeout());
  for (int i = 0; i < count; ++i) {
    const auto fd = static_cast<std::size_t>(events[i].data.u64 & 0xffffffff);
    const auto generation = static_cast<std::uint32_t>(events[i].data.u64 >> 32);
    if (!watches_[fd].active || watches_[fd].generation != generation) continue;
    // Moved out while it runs: the handler may forget itself, and watch() may move the vector.
    Handler handler = std::move(watches_[fd].handler);
    handler(events[i].events);
    if (watches_[fd].active && watches_[fd].generation == generation) watches_[fd].handler = std::move(handler);
  }
  run_timers();
}

void Loop::run_timers() {
  while (!timers_.empty() && timers_.begin()->first.first <= Clock::now()) {
    auto due = timers_.extract(timers_.begin());
    due_.erase(due.key().second);
    due.mapped()();
  }
}

}  // namespace cove::guest
