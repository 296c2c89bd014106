#pragma once

// The parts of roff, with the macros of man(7), that our manual pages use.

#include <string>
#include <string_view>

namespace cove::cli {

// Text, escaped: it is shown exactly as it is here, with hyphens and quotes that can be copied.
std::string roff(std::string_view text);
std::string roff_section(std::string_view title);
// A tagged paragraph. `tag` is roff, `text` is plain.
std::string roff_item(std::string_view tag, std::string_view text);
std::string roff_bold(std::string_view text);  // for names: not hyphenated

}  // namespace cove::cli
