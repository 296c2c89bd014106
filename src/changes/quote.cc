#include <algorithm>
#include <array>
#include <cstdio>

#include "changes/text.h"

namespace cove::changes {
namespace {

bool plain(char c) { return c >= ' ' && c < 127 && c != '"' && c != '\\'; }

std::string escaped(char c) {
  switch (c) {
    case '\a': return "\\a";
    case '\b': return "\\b";
    case '\t': return "\\t";
    case '\n': return "\\n";
    case '\v': return "\\v";
    case '\f': return "\\f";
    case '\r': return "\\r";
    case '"': return "\\\"";
    case '\\': return "\\\\";
    default: break;
  }
  std::array<char, 8> octal{};
  std::snprintf(octal.data(), octal.size(), "\\%03o", static_cast<unsigned>(static_cast<unsigned char>(c)));
  return octal.data();
}

}  // namespace

std::string quote_path(std::string_view path) {
  if (std::all_of(path.begin(), path.end(), plain)) return std::string(path);
  std::string text = "\"";
  for (const char c : path) text += plain(c) ? std::string(1, c) : escaped(c);
  return text + '"';
}

}  // namespace cove::changes
