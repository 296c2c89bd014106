#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "terminal/plain_text.h"
#include "terminal/redact.h"

namespace cove::terminal {

// A command's output on its way into a result: text without escape sequences, secrets masked, trimmed, bounded, and the
// whole of it in a file where it was more than the bound. Memory is bounded whatever comes: a head of kHead bytes and
// the last part. Nothing is masked before it is whole, so a secret cannot hide in the seam of two pieces.
class Output {
 public:
  static constexpr std::size_t kHead = 5'000'000;

  explicit Output(std::size_t limit) : limit_(limit) {}
  void add(std::string_view bytes);

  struct Rendered {
    std::string text;
    std::size_t total_chars = 0;
    bool truncated = false;
    std::string full_path;  // "" if it was not truncated, or could not be kept
  };
  // `suffix`: a line that belongs to the result and not to the output.
  Rendered finish(const Redaction& redaction, std::string_view suffix);

 private:
  const std::size_t limit_;
  PlainText plain_;
  std::string head_, tail_;
  bool split_ = false;             // head_ is full
  std::size_t missing_chars_ = 0;  // between them
};

}  // namespace cove::terminal
