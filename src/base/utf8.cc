#include "base/text.h"

namespace cove {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

struct Lead {
  int length;               // of the whole sequence; 0: no sequence begins so
  unsigned char low, high;  // what the second byte may be (table 3-7 of the Unicode standard)
};

Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2 || byte > 0xF4) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte < 0xF0) {
    return {3, static_cast<unsigned char>(byte == 0xE0 ? 0xA0 : 0x80),
            static_cast<unsigned char>(byte == 0xED ? 0x9F : 0xBF)};
  }
  return {4, static_cast<unsigned char>(byte == 0xF0 ? 0x90 : 0x80),
          static_cast<unsigned char>(byte == 0xF4 ? 0x8F : 0xBF)};
}

struct Sequence {
  std::size_t bytes;  // at least 1
  bool valid;
};

Sequence sequence_at(std::string_view bytes) {
  const Lead lead = lead_of(static_cast<unsigned char>(bytes[0]));
  if (lead.length <= 1) return {1, lead.length == 1};
  std::size_t n = 1;
  for (; n < static_cast<std::size_t>(lead.length) && n < bytes.size(); ++n) {
    const auto next = static_cast<unsigned char>(bytes[n]);
    if (next < (n == 1 ? lead.low : 0x80) || next > (n == 1 ? lead.high : 0xBF)) break;
  }
  return {n, n == static_cast<std::size_t>(lead.length)};
}

void append_escaped(std::string& out, char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  switch (c) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: break;
  }
  const auto byte = static_cast<unsigned char>(c);
  if (byte >= 0x20 && byte != 0x7F) {
    out += c;
    return;
  }
  out += "\\u00";
  out += kHex[byte >> 4];
  out += kHex[byte & 15];
}

}  // namespace

std::string to_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const Sequence sequence = sequence_at(bytes);
    out += sequence.valid ? bytes.substr(0, sequence.bytes) : kReplacement;
    bytes.remove_prefix(sequence.bytes);
  }
  return out;
}

std::string json_quote(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  out += '"';
  while (!text.empty()) {
    const Sequence sequence = sequence_at(text);
    if (sequence.valid && sequence.bytes == 1)
      append_escaped(out, text[0]);
    else
      out += sequence.valid ? text.substr(0, sequence.bytes) : kReplacement;
    text.remove_prefix(sequence.bytes);
  }
  out += '"';
  return out;
}

}  // namespace cove
