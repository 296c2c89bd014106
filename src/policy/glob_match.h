#pragma once

#include <string_view>

namespace cove::policy {

enum class LetterCase : unsigned char { same, ignored };

// Whether the whole of `text` matches: `*` any bytes, `?` one, `[a-z]` and `[!a-z]` one of them, `\` takes the next
// byte as it is. A '[' that is not closed is itself. Never slow: at most pattern times text steps. Rejected:
// fnmatch(3), whose time grows with a power of the number of stars.
bool glob_match(std::string_view pattern, std::string_view text, LetterCase letters = LetterCase::same);

}  // namespace cove::policy
