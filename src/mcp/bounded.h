#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cove::mcp {

// Output of any length in memory of a fixed size: its beginning and its end, with a line in between that says how much
// is missing.
class Bounded {
 public:
  explicit Bounded(std::size_t most) : head_room_(most * 2 / 5), tail_room_(most - most * 2 / 5) {}
  void add(std::string_view bytes);
  std::uint64_t total() const { return total_; }
  bool cut() const { return total_ > head_room_ + tail_room_; }
  std::string text() const;  // UTF-8

 private:
  const std::size_t head_room_, tail_room_;
  std::string head_, tail_;
  std::uint64_t total_ = 0;
};

// How many of the last bytes begin a character that is not complete: 0 to 3.
std::size_t incomplete_tail(std::string_view bytes);

}  // namespace cove::mcp
