// A Keeper's sandbox of which nothing runs for a while.

#include <sys/epoll.h>

#include "base/log.h"
#include "keeper/keeper.h"

namespace cove::keeper {
namespace {

using namespace std::chrono_literals;

constexpr auto kPause = 60s;

}  // namespace

// A place that can be connected to again is let go of: its end is then no loss. What was on its way is kept, and goes
// on with the next channel.
Result<void> Keeper::leave() {
  COVE_CHECK(accepting());
  if (!reconnect_until_.is_never())
    return fail(Errc::busy, "sandbox " + record_.name() + " is being reached again: ask once more in a moment");
  if (place_->reconnect_within() == 0ms) return {};
  if (!guest_.can_resume()) return fail(Errc::busy, "sandbox " + record_.name() + " has not taken what was sent to it");
  lose_channel();
  reconnect_until_ = Deadline::never();
  if (place_->gone_fd() >= 0) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, place_->gone_fd(), nullptr);
  return {};
}

Result<void> Keeper::come_back() {
  if (place_->reconnect_within() == 0ms) return {};
  connect_anew();
  return watch_gone();
}

Result<void> Keeper::pause() {
  COVE_CHECK(leave());
  auto paused = place_->pause(Deadline::after(kPause));
  paused_ = paused.has_value();
  if (paused_) record_.note_paused(true);
  log_event(paused_ ? "sandbox.paused" : "sandbox.not_paused", {{"sandbox", record_.name()}});
  if (!paused) COVE_CHECK(come_back());
  return paused;
}

Result<void> Keeper::resume() {
  if (!paused_) return {};
  record_.note_paused(false);
  auto resumed = place_->resume(Deadline::after(kPause));
  if (!resumed) {
    paused_ = false;
    begin_end({"it could not be resumed: " + resumed.error().message, false, false}, 0);
    return resumed;
  }
  paused_ = false;
  log_event("sandbox.resumed", {{"sandbox", record_.name()}});
  return come_back();
}

}  // namespace cove::keeper
