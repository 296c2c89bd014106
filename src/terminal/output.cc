#include "terminal/output.h"

#include <utility>

#include "terminal/bounded.h"
#include "terminal/full_output.h"

namespace cove::terminal {
namespace {

constexpr std::size_t kLongestWord = 4096;

// A cut may have left a part of a secret, which no longer looks like one: words at a cut are not shown.
std::size_t before_last_word(std::string_view text) {
  const std::size_t blank = text.find_last_of(" \t\r\n");
  return blank == std::string_view::npos || text.size() - blank > kLongestWord ? text.size() : blank + 1;
}

std::size_t after_first_word(std::string_view text) {
  const std::size_t blank = text.find_first_of(" \t\r\n");
  if (blank == std::string_view::npos || blank > kLongestWord) {
    std::size_t at = 0;
    while (at < text.size() && (text[at] & 0xC0) == 0x80) ++at;
    return at;
  }
  return blank;
}

}  // namespace

void Output::add(std::string_view bytes) {
  plain_.add(bytes, split_ ? tail_ : head_);
  if (!split_ && head_.size() > kHead) {
    split_ = true;
    const std::size_t end = before_last_word(head_);
    tail_ = head_.substr(end);
    head_.resize(end);
  }
  // Four bytes are the longest character; it is cut only now and then.
  const std::size_t keep = 4 * limit_ + kLongestWord;
  if (tail_.size() < 2 * keep) return;
  const std::size_t cut = tail_.size() - keep;
  missing_chars_ += count_chars(std::string_view(tail_).substr(0, cut));
  tail_.erase(0, cut);
}

Output::Rendered Output::finish(const Redaction& redaction, std::string_view suffix) {
  plain_.finish(split_ ? tail_ : head_);
  if (missing_chars_ == 0) {
    head_ += std::exchange(tail_, {});
  } else {
    const std::size_t cut = after_first_word(tail_);
    missing_chars_ += count_chars(std::string_view(tail_).substr(0, cut));
    tail_.erase(0, cut);
  }
  const std::string masked = redact(std::move(head_), redaction), masked_tail = redact(std::move(tail_), redaction);
  Parts parts{.text = trimmed(masked)};
  if (missing_chars_ > 0)
    parts = {.text = without_blank_front(masked), .tail = without_blank_end(masked_tail), .missing = missing_chars_};
  // On a line of its own.
  const std::string last_line = (suffix.empty() || parts.text.empty() ? "" : "\n") + std::string(suffix);
  auto bounded = bound(parts, limit_, last_line);
  Rendered rendered{std::move(bounded.text), bounded.total, bounded.truncated, ""};
  if (bounded.truncated) {
    if (auto path = save_full_output(parts)) rendered.full_path = std::move(*path);
  }
  return rendered;
}

}  // namespace cove::terminal
