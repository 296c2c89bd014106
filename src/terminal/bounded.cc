#include "terminal/bounded.h"

#include <algorithm>

#include "terminal/plain_text.h"

namespace cove::terminal {
namespace {

constexpr bool continues(char c) { return (c & 0xC0) == 0x80; }

// Where the character number `count` begins.
std::size_t offset_of(std::string_view text, std::size_t count) {
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if (!continues(text[at]) && count-- == 0) break;
  }
  return at;
}

// The last `count` characters.
std::string_view last_chars(std::string_view text, std::size_t count) {
  std::size_t at = text.size();
  while (at > 0 && count > 0) {
    if (!continues(text[--at])) --count;
  }
  return text.substr(at);
}

std::string notice(std::size_t omitted, std::size_t total) {
  return "\n\n... [OUTPUT TRUNCATED - " + with_separators(omitted) + " chars omitted out of " + with_separators(total) +
         " total] ...\n\n";
}

}  // namespace

std::string with_separators(std::size_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

Bounded bound(const Parts& parts, std::size_t limit, std::string_view suffix) {
  const std::size_t front = count_chars(parts.text), back = count_chars(parts.tail);
  const std::size_t total = front + parts.missing + back, extra = count_chars(suffix);
  const bool whole = parts.missing == 0 && parts.tail.empty();
  if (whole && total + extra <= limit) return {std::string(parts.text).append(suffix), total, false};
  // The notice counts, and its length depends on the number in it: two rounds settle that, unless a digit comes and
  // goes, which the larger of the two decides.
  std::size_t omitted = total, kept = 0;
  for (int round = 0; round < 4; ++round) {
    const std::size_t used = notice(omitted, total).size() + extra;
    kept = limit > used ? limit - used : 0;
    const std::size_t next = total > kept ? total - kept : 0;
    if (next == omitted) break;
    omitted = next;
  }
  const std::size_t head = std::min(kept * 2 / 5, front);
  const std::string_view source = whole ? parts.text : parts.tail;
  const std::string_view tail = last_chars(source, kept - kept * 2 / 5);
  omitted = total - head - count_chars(tail);
  std::string text(parts.text.substr(0, offset_of(parts.text, head)));
  text += notice(omitted, total);
  text += tail;
  text += suffix;
  return {std::move(text), total, true};
}

}  // namespace cove::terminal
