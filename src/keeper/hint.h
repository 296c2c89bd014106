#pragma once

#include <string>
#include <string_view>

namespace cove::keeper {

// For a command that failed in a sandbox without a network, by the end of what it printed: "" or a sentence.
std::string network_hint(std::string_view output);

}  // namespace cove::keeper
