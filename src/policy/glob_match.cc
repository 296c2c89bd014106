#include "policy/glob_match.h"

#include <cstddef>

namespace cove::policy {
namespace {

unsigned char folded(char c, LetterCase letters) {
  const bool upper = c >= 'A' && c <= 'Z';
  return static_cast<unsigned char>(letters == LetterCase::ignored && upper ? c - 'A' + 'a' : c);
}

// The bracket expression at the pattern's begin: its size, or 0 if it is not closed.
std::size_t match_set(std::string_view pattern, unsigned char byte, LetterCase letters, bool& matches) {
  std::size_t i = 1;
  const bool inverted = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (inverted) ++i;
  bool found = false;
  for (const std::size_t first = i; i < pattern.size() && (pattern[i] != ']' || i == first); ++i) {
    const unsigned char low = folded(pattern[i], letters);
    unsigned char high = low;
    if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']')
      high = folded(pattern[i += 2], letters);
    found = found || (low <= byte && byte <= high);
  }
  if (i >= pattern.size()) return 0;
  matches = found != inverted;
  return i + 1;
}

// The size of the pattern's first element if it matches the byte, or 0.
std::size_t match_one(std::string_view pattern, char c, LetterCase letters) {
  if (pattern.empty()) return 0;
  const unsigned char byte = folded(c, letters);
  if (pattern[0] == '?') return 1;
  if (pattern[0] == '[') {
    bool matches = false;
    if (const std::size_t size = match_set(pattern, byte, letters, matches); size != 0) return matches ? size : 0;
  }
  if (pattern[0] == '\\' && pattern.size() > 1) return folded(pattern[1], letters) == byte ? 2 : 0;
  return folded(pattern[0], letters) == byte ? 1 : 0;
}

}  // namespace

// Only the last star has to be tried again: what an earlier one took cannot matter any more.
bool glob_match(std::string_view pattern, std::string_view text, LetterCase letters) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
    } else if (const std::size_t size = match_one(pattern.substr(p), text[t], letters); size != 0) {
      p += size;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace cove::policy
