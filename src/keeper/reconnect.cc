// A Keeper whose channel broke while its place lives. Nothing here waits: the loop comes back when it is time to try
// again, and clients are served meanwhile; what they ask of the guest goes out once both are in step again.

#include <poll.h>
#include <sys/epoll.h>

#include "base/log.h"
#include "keeper/keeper.h"

namespace cove::keeper {
namespace {

using namespace std::chrono_literals;

constexpr auto kFirstPause = 10ms;
constexpr auto kLongestPause = 1000ms;
constexpr auto kConnect = 5s;

}  // namespace

bool Keeper::place_is_gone(std::chrono::milliseconds wait) const {
  pollfd gone{place_->gone_fd(), POLLIN, 0};
  return gone.fd >= 0 && poll(&gone, 1, static_cast<int>(wait.count())) > 0;
}

bool Keeper::can_reconnect() const {
  return place_->reconnect_within() > 0ms && guest_.can_resume() && !place_is_gone(0ms);
}

void Keeper::lose_channel() {
  for (const int fd : {guest_.in_fd(), guest_.out_fd()}) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  guest_watched_for_room_ = false;
  guest_.close();
  if (reconnect_until_.is_never()) {
    log_event("guest.disconnected", {{"sandbox", record_.name()}});
    return connect_anew();
  }
  try_later("it ended before the guest answered");
}

void Keeper::connect_anew() {
  reconnect_until_ = Deadline::after(place_->reconnect_within());
  reconnect_pause_ = kFirstPause;
  reconnect_at_ = Deadline::after(0ms);
  why_not_connected_.clear();
}

void Keeper::try_later(std::string why) {
  why_not_connected_ = std::move(why);
  reconnect_at_ = Deadline::after(reconnect_pause_);
  reconnect_pause_ = std::min<std::chrono::milliseconds>(reconnect_pause_ * 2, kLongestPause);
}

void Keeper::reconnect() {
  if (reconnect_until_.is_never() || phase_ == Phase::over) return;
  if (guest_.is_open() && guest_.in_step()) {
    log_event("guest.reconnected", {{"sandbox", record_.name()}});
    reconnect_until_ = Deadline::never();
    return;
  }
  if (reconnect_until_.passed()) {
    return lose_guest("the channel to the guest broke and could not be opened again in " +
                      std::to_string(place_->reconnect_within().count()) + " ms" +
                      (why_not_connected_.empty() ? "" : ": " + why_not_connected_));
  }
  if (guest_.is_open() || !reconnect_at_.passed()) return;
  auto channel = place_->connect(earlier(reconnect_until_, Deadline::after(kConnect)));
  if (!channel && channel.error().code == Errc::not_found) return lose_guest(channel.error().message);
  if (!channel) return try_later(channel.error().message);
  guest_.reopen(std::move(*channel));
  if (const auto watched = watch_guest(); !watched) lose_channel();
}

Deadline Keeper::next_reconnect() const {
  if (reconnect_until_.is_never() || guest_.is_open()) return reconnect_until_;
  return earlier(reconnect_until_, reconnect_at_);
}

}  // namespace cove::keeper
