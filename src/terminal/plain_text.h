#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cove::terminal {

// A terminal's bytes as text for somebody who has none: valid UTF-8 (what is broken becomes U+FFFD), without escape
// sequences. A state machine: bytes come in pieces of any size, the text is the same. Other control characters stay.
//
// Taken out: CSI, OSC, DCS, SOS, PM, APC, and two- or three-byte sequences, each in its 7-bit and its UTF-8 C1 form.
// A sequence cannot hide the rest of the output: one that is broken, cancelled or too long ends, and text goes on.
class PlainText {
 public:
  static constexpr std::size_t kLongest = std::size_t{64} << 10;  // of an OSC, DCS, ... string

  void add(std::string_view bytes, std::string& text);
  // What was incomplete; afterwards it begins anew.
  void finish(std::string& text);

 private:
  enum class State : unsigned char { text, escape, intermediate, csi, line, string, string_escape };

  void take(std::string_view character, std::string& text);
  void take_plain(std::string_view character, std::string& text);
  void take_in_escape(char c, std::string& text, std::string_view character);
  void take_in_string(std::string_view character, std::string& text);
  bool take_c1(unsigned char code);
  void begin_string(State state);

  State state_ = State::text;
  bool line_string_ = false;  // the string ends with its line
  std::size_t length_ = 0;    // of the sequence so far
  std::string pending_;       // the beginning of a character
  std::size_t missing_ = 0;   // its bytes that are still to come
};

std::string plain_text(std::string_view bytes);

// How much of the bytes' front can be shown by itself: not half a character, not half an escape sequence. For readers
// of a log that grows; never less than all but the last 256 bytes.
std::size_t complete_prefix(std::string_view bytes);

std::size_t count_chars(std::string_view utf8);
std::string_view without_blank_front(std::string_view text);
std::string_view without_blank_end(std::string_view text);
std::string_view trimmed(std::string_view text);

}  // namespace cove::terminal
