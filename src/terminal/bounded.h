#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cove::terminal {

struct Bounded {
  std::string text;
  std::size_t total = 0;  // characters before
  bool truncated = false;
};

// At most `limit` characters of `text` + `suffix`: where it is more, two fifths from the head and three fifths from the
// tail of `text`, with a notice between that says exactly how many characters are missing of how many. The suffix is
// whole in any case. `missing`: characters that stood between `text` and `tail` and are not here; `tail` is a part of
// the output, too.
struct Parts {
  std::string_view text, tail = {};
  std::size_t missing = 0;
};
Bounded bound(const Parts& parts, std::size_t limit, std::string_view suffix = {});

// "1,234,567"
std::string with_separators(std::size_t number);

}  // namespace cove::terminal
