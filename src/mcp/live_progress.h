#pragma once

#include "base/deadline.h"
#include "mcp/bounded.h"
#include "mcp/tool.h"

namespace cove::mcp {

// A command's output as it comes, as messages of progress: the first at once, then at most ten a second, and one every
// five seconds from a silent command, for clients that give up on calls of which they hear nothing.
class LiveProgress {
 public:
  static constexpr std::chrono::milliseconds kEvery{100}, kSilence{5000};
  static constexpr std::size_t kMostBytes = std::size_t{16} << 10;  // of one message; the middle is left out

  explicit LiveProgress(const ToolCall& call) : call_(call) {}
  bool wanted() const { return static_cast<bool>(call_.progress); }
  void add(std::string_view bytes);
  void tick();  // every kEvery

 private:
  void send(std::string message);

  const ToolCall& call_;
  std::string pending_;
  Clock::time_point began_ = Clock::now(), last_{};
  double count_ = 0;
};

}  // namespace cove::mcp
