#pragma once

// Reads what shells print about their variables and aliases: bash's `declare -p`, the `set`, `export -p` and `alias` of
// POSIX shells. One entry per declaration; values may hold newlines inside their quotes, so lines are not entries.

#include <string_view>
#include <vector>

namespace cove::session {

struct Declaration {
  std::string_view name;
  std::string_view text;  // the whole entry, without its final newline
};

// Never fails: what does not look like an entry is left out. Views point into `text`.
std::vector<Declaration> split_declarations(std::string_view text);

}  // namespace cove::session
