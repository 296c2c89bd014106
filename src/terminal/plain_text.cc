#include "terminal/plain_text.h"

#include <algorithm>
#include <utility>

namespace cove::terminal {
namespace {

constexpr char kEscape = '\x1B', kBell = '\x07', kCancel = '\x18', kSubstitute = '\x1A';
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::string_view kBlank = " \t\r\n\v\f";

bool is_plain(char c) { return static_cast<unsigned char>(c) < 0x80 && c != kEscape; }

// Bytes that follow this one in its character; -1: no character begins so.
int followers(unsigned char lead) {
  if (lead < 0x80) return 0;
  if (lead < 0xC2 || lead > 0xF4) return -1;
  return lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
}

// Table 3-7 of the Unicode standard: neither overlong forms nor surrogates nor anything above U+10FFFF.
bool may_follow(std::string_view begun, unsigned char next) {
  unsigned char low = 0x80, high = 0xBF;
  if (begun.size() == 1) {
    const auto lead = static_cast<unsigned char>(begun[0]);
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  }
  return next >= low && next <= high;
}

}  // namespace

void PlainText::add(std::string_view bytes, std::string& text) {
  for (std::size_t at = 0; at < bytes.size();) {
    if (state_ == State::text && pending_.empty()) {
      const auto run = std::find_if_not(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.end(), is_plain);
      const auto end = static_cast<std::size_t>(run - bytes.begin());
      text += bytes.substr(at, end - at);
      at = end;
      if (at == bytes.size()) return;
    }
    const auto byte = static_cast<unsigned char>(bytes[at]);
    if (pending_.empty()) {
      const int more = followers(byte);
      ++at;
      if (more > 0) {
        pending_ = static_cast<char>(byte);
        missing_ = static_cast<std::size_t>(more);
      } else {
        take(more == 0 ? bytes.substr(at - 1, 1) : kReplacement, text);
      }
    } else if (may_follow(pending_, byte)) {
      ++at;
      pending_ += static_cast<char>(byte);
      if (--missing_ > 0) continue;
      const std::string whole = std::exchange(pending_, {});
      take(whole, text);
    } else {  // the byte is looked at again, as a beginning
      pending_.clear();
      take(kReplacement, text);
    }
  }
}

void PlainText::finish(std::string& text) {
  if (!pending_.empty()) take(kReplacement, text);
  *this = PlainText();
}

void PlainText::take(std::string_view character, std::string& text) {
  const char c = character.size() == 1 ? character[0] : '\0';
  if (state_ != State::text && (c == kCancel || c == kSubstitute)) {
    state_ = State::text;
    return;
  }
  switch (state_) {
    case State::text: return take_plain(character, text);
    case State::line:
    case State::string:
    case State::string_escape: return take_in_string(character, text);
    default: return take_in_escape(c, text, character);
  }
}

void PlainText::take_plain(std::string_view character, std::string& text) {
  if (character[0] == kEscape) {
    state_ = State::escape;
    return;
  }
  const bool c1 = character.size() == 2 && character[0] == '\xC2' && static_cast<unsigned char>(character[1]) < 0xA0;
  if (c1 && take_c1(static_cast<unsigned char>(character[1]))) return;
  text += character;
}

// The controls that are one character in an 8-bit world.
bool PlainText::take_c1(unsigned char code) {
  switch (code) {
    case 0x9B:
      state_ = State::csi;
      length_ = 0;
      return true;
    case 0x9D: begin_string(State::line); return true;
    case 0x90:
    case 0x98:
    case 0x9E:
    case 0x9F: begin_string(State::string); return true;
    default: return code != 0x85;  // next line: the only one that is white space
  }
}

void PlainText::begin_string(State state) {
  state_ = state;
  line_string_ = state == State::line;
  length_ = 0;
}

// ECMA-48: ESC, then maybe intermediates, then one final; CSI, then parameters and intermediates, then a final. What
// does not belong there is text again.
void PlainText::take_in_escape(char c, std::string& text, std::string_view character) {
  if (c == kEscape) {
    state_ = State::escape;
    return;
  }
  const bool between = c >= 0x20 && c <= 0x2F;
  if (state_ == State::csi) {
    if ((between || (c >= 0x30 && c <= 0x3F)) && ++length_ < 256) return;
    state_ = State::text;
    if (c < 0x40 || c > 0x7E) take_plain(character, text);
    return;
  }
  if (state_ == State::escape && c == '[') {
    state_ = State::csi;
    length_ = 0;
  } else if (state_ == State::escape && c == ']') {
    begin_string(State::line);
  } else if (state_ == State::escape && (c == 'P' || c == 'X' || c == '^' || c == '_')) {
    begin_string(State::string);
  } else if (between) {
    state_ = State::intermediate;
  } else {
    state_ = State::text;
    if (c < 0x30 || c > 0x7E) take_plain(character, text);
  }
}

void PlainText::take_in_string(std::string_view character, std::string& text) {
  const char c = character.size() == 1 ? character[0] : '\0';
  const bool terminator = character == "\xC2\x9C";
  if (++length_ > kLongest || c == kBell || terminator || (state_ == State::string_escape && c == '\\')) {
    state_ = State::text;
  } else if (state_ == State::string_escape && c != kEscape) {
    // ESC ends the string in any case; what stands behind it is a sequence of its own.
    state_ = State::escape;
    take_in_escape(c, text, character);
  } else if (c == kEscape) {
    state_ = State::string_escape;
  } else if (line_string_ && c == '\n') {
    state_ = State::text;
    text += c;
  }
}

std::string plain_text(std::string_view bytes) {
  PlainText filter;
  std::string text;
  text.reserve(bytes.size());
  filter.add(bytes, text);
  filter.finish(text);
  return text;
}

std::size_t complete_prefix(std::string_view bytes) {
  constexpr std::size_t kNear = 256;
  const std::size_t from = bytes.size() > kNear ? bytes.size() - kNear : 0;
  std::size_t end = bytes.size();
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, end - from); ++back) {
    const int more = followers(static_cast<unsigned char>(bytes[end - back]));
    if (more == 0 || (more > 0 && static_cast<std::size_t>(more) < back)) break;
    if (more > 0) {
      end -= back;
      break;
    }
  }
  const std::size_t escape = bytes.substr(from, end - from).rfind(kEscape);
  if (escape == std::string_view::npos) return end;
  // Whatever is behind a whole sequence shows: a letter that is not there means that it still goes on.
  std::string after;
  PlainText filter;
  filter.add(bytes.substr(from + escape, end - from - escape), after);
  filter.add("\x18", after);  // cancels what goes on; otherwise it is text itself
  return after.empty() ? from + escape : end;
}

std::size_t count_chars(std::string_view utf8) {
  return static_cast<std::size_t>(std::count_if(utf8.begin(), utf8.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string_view without_blank_front(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
  return text;
}

std::string_view without_blank_end(std::string_view text) { return text.substr(0, text.find_last_not_of(kBlank) + 1); }

std::string_view trimmed(std::string_view text) { return without_blank_front(without_blank_end(text)); }

}  // namespace cove::terminal
