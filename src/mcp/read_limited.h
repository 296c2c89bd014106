#pragma once

#include "client/cove.h"

namespace cove::mcp {

// The beginning of a file, at most so many bytes, however large it is or becomes meanwhile. What the sandbox says about
// its size is not believed.
Result<std::string> read_limited(Sandbox& sandbox, const std::string& path, std::size_t most, const Call& call);

}  // namespace cove::mcp
