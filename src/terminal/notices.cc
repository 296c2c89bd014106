#include "terminal/notices.h"

#include <algorithm>
#include <utility>

namespace cove::terminal {

WatchLimit::Verdict WatchLimit::hit(Clock::time_point now) {
  if (over_) return Verdict::silent;
  if (told_ && now - *told_ < kEvery) {
    ++held_back_;
    if (!struck_) {
      struck_ = true;
      ++strikes_;
    }
    return Verdict::hold_back;
  }
  told_ = now;
  struck_ = false;
  over_ = ++count_ >= kMost || strikes_ >= kStrikes;
  return over_ ? Verdict::last : Verdict::tell;
}

bool WatchBreaker::allows(Clock::time_point now) {
  if (now < open_at_) return false;
  while (!recent_.empty() && now - recent_.front() > kWithin) recent_.pop_front();
  if (recent_.size() >= kMost) {
    open_at_ = now + kPause;
    recent_.clear();
    return false;
  }
  recent_.push_back(now);
  return true;
}

std::vector<LineWatch::Match> LineWatch::add(std::string_view text) {
  constexpr std::size_t kLongest = 4096;
  std::vector<Match> matches;
  while (!text.empty()) {
    const std::size_t newline = text.find('\n');
    const std::size_t room = kLongest - line_.size();
    const std::size_t take = std::min({newline, text.size(), room});
    line_ += text.substr(0, take);
    text.remove_prefix(take);
    const bool whole = text.starts_with('\n');
    if (!whole && line_.size() < kLongest) break;
    if (whole) text.remove_prefix(1);
    for (const std::string& pattern : patterns_) {
      if (line_.find(pattern) == std::string::npos) continue;
      matches.push_back({pattern, line_});
      break;
    }
    line_.clear();
  }
  return matches;
}

void Notices::add(JsonBox notice) {
  const std::lock_guard guard(mutex_);
  waiting_.push_back(std::move(notice));
  if (waiting_.size() > kMost) waiting_.pop_front();
  came_.notify_all();
}

void Notices::add_match(JsonBox notice) {
  {
    const std::lock_guard guard(mutex_);
    if (!breaker_.allows(Clock::now())) return;
  }
  add(std::move(notice));
}

std::deque<JsonBox> Notices::take(Deadline deadline) {
  std::unique_lock lock(mutex_);
  if (deadline.is_never())
    came_.wait(lock, [&] { return !waiting_.empty(); });
  else
    came_.wait_until(lock, deadline.at(), [&] { return !waiting_.empty(); });
  return std::exchange(waiting_, {});
}

}  // namespace cove::terminal
