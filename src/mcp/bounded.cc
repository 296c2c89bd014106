#include "mcp/bounded.h"

#include <algorithm>

#include "base/text.h"

namespace cove::mcp {

void Bounded::add(std::string_view bytes) {
  total_ += bytes.size();
  const std::size_t first = std::min(bytes.size(), head_room_ - head_.size());
  head_ += bytes.substr(0, first);
  bytes.remove_prefix(first);
  if (bytes.size() > tail_room_) bytes.remove_prefix(bytes.size() - tail_room_);
  tail_ += bytes;
  // Twice the room before anything is moved, so that many small pieces cost no more than one large one.
  if (tail_.size() > 2 * tail_room_) tail_.erase(0, tail_.size() - tail_room_);
}

std::string Bounded::text() const {
  const std::string_view tail = std::string_view(tail_).substr(tail_.size() - std::min(tail_.size(), tail_room_));
  const std::uint64_t missing = total_ - head_.size() - tail.size();
  if (missing == 0) return to_utf8(head_ + std::string(tail));
  const std::string_view head = std::string_view(head_).substr(0, head_.size() - incomplete_tail(head_));
  std::size_t begin = 0;  // of a whole character
  while (begin < tail.size() && begin < 3 && (static_cast<unsigned char>(tail[begin]) & 0xC0) == 0x80) ++begin;
  return to_utf8(head) + "\n[... " + std::to_string(missing) + " bytes left out ...]\n" + to_utf8(tail.substr(begin));
}

std::size_t incomplete_tail(std::string_view bytes) {
  for (std::size_t back = 1; back <= 3 && back <= bytes.size(); ++back) {
    const auto byte = static_cast<unsigned char>(bytes[bytes.size() - back]);
    if ((byte & 0xC0) == 0x80) continue;
    const std::size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

}  // namespace cove::mcp
