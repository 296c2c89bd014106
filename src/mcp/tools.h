#pragma once

#include "mcp/sandboxes.h"
#include "mcp/tool.h"

namespace cove::mcp {

// Every tool, in the order in which they are listed. `sandboxes` is lent.
std::vector<Tool> make_tools(Sandboxes& sandboxes);

// For the model: what all of this is about.
std::string instructions();

}  // namespace cove::mcp
