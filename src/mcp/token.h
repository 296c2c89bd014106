#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace cove::mcp {

// The bearer token: from a file that nobody else can read, or else from COVE_MCP_TOKEN, which is then taken out of the
// environment, so that no program started from here has it. "": there is none.
Result<std::string> find_token(const std::string& file);

// Takes the same time wherever the two differ.
bool same_secret(std::string_view given, std::string_view wanted);

}  // namespace cove::mcp
