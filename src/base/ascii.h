#pragma once

#include <string>
#include <string_view>

namespace cove {

// Letters of ASCII in lower case, whatever the locale.
inline std::string lower(std::string_view text) {
  std::string copy(text);
  for (char& c : copy) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return copy;
}

}  // namespace cove
