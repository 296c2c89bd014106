#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace cove {

// A stranger's JSON; discarded if it is none, or nested deeper than anything that is meant: the library copies values
// recursively, and a megabyte of brackets would take more than the stack.
inline nlohmann::json parse_json(std::string_view text) {
  constexpr int kDeepest = 100;
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size() && depth <= kDeepest; ++i) {
    const char c = text[i];
    if (quoted && c == '\\')
      ++i;
    else if (c == '"')
      quoted = !quoted;
    else if (!quoted && (c == '[' || c == '{'))
      ++depth;
    else if (!quoted && (c == ']' || c == '}'))
      --depth;
  }
  if (depth > kDeepest) return nlohmann::json(nlohmann::json::value_t::discarded);
  return nlohmann::json::parse(text, nullptr, false);
}

// JSON whatever bytes its strings hold: what is not UTF-8 becomes U+FFFD instead of an exception. Without an indent one
// line, without a newline at its end.
inline std::string json_text(const nlohmann::json& json, int indent = -1) {
  return json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace cove
