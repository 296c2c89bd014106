#include "mcp/live_progress.h"

#include <algorithm>

namespace cove::mcp {

void LiveProgress::add(std::string_view bytes) {
  if (!wanted()) return;
  pending_ += bytes;
  tick();
}

void LiveProgress::tick() {
  if (!wanted()) return;
  const auto silent = Clock::now() - last_;
  const std::size_t whole = pending_.size() - incomplete_tail(pending_);
  if (whole > 0 && (silent >= kEvery || pending_.size() > std::size_t{1} << 20)) {
    Bounded text(kMostBytes);
    text.add(std::string_view(pending_).substr(0, whole));
    pending_.erase(0, whole);
    return send(text.text());
  }
  if (whole == 0 && Clock::now() - std::max(began_, last_) >= kSilence) send("");
}

void LiveProgress::send(std::string message) {
  last_ = Clock::now();
  call_.progress({.value = ++count_, .message = std::move(message)});
}

}  // namespace cove::mcp
