#pragma once

// What background commands have to tell by themselves: that they ended, that a line was printed that somebody waits
// for. Kept until somebody asks; bounded, the oldest go first.

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/json_box.h"

namespace cove::terminal {

// How often one command's matches are told: at most once per kEvery. A period in which some had to be held back is a
// strike; the third strike, or the eighth notice, is the last.
class WatchLimit {
 public:
  static constexpr std::chrono::seconds kEvery{15};
  static constexpr int kStrikes = 3, kMost = 8;
  enum class Verdict : unsigned char { tell, hold_back, last, silent };

  Verdict hit(Clock::time_point now);
  std::size_t held_back() const { return held_back_; }  // since the last one that was told

 private:
  std::optional<Clock::time_point> told_;
  bool struck_ = false;
  int strikes_ = 0, count_ = 0;
  std::size_t held_back_ = 0;
  bool over_ = false;
};

// Of all commands together: more than kMost in kWithin, and there are none for kPause.
class WatchBreaker {
 public:
  static constexpr std::size_t kMost = 15;
  static constexpr std::chrono::seconds kWithin{10}, kPause{30};
  bool allows(Clock::time_point now);

 private:
  std::deque<Clock::time_point> recent_;
  Clock::time_point open_at_{};
};

// Lines of a stream that contain one of the patterns (plain text). A line is looked at when it is whole, or longer than
// 4 KiB.
class LineWatch {
 public:
  explicit LineWatch(std::vector<std::string> patterns) : patterns_(std::move(patterns)) {}
  struct Match {
    std::string pattern, line;
  };
  std::vector<Match> add(std::string_view text);

 private:
  std::vector<std::string> patterns_;
  std::string line_;
};

class Notices {
 public:
  static constexpr std::size_t kMost = 1000;
  void add(JsonBox notice);
  // A match; kept back when there are too many of all.
  void add_match(JsonBox notice);
  // All there are, once; waits for the first one.
  std::deque<JsonBox> take(Deadline deadline);

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::deque<JsonBox> waiting_;
  WatchBreaker breaker_;
};

}  // namespace cove::terminal
