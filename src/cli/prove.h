#pragma once

#include "client/cove.h"

namespace cove::cli {

// Lets the canary loose in a new sandbox and keeps its report with it. denied: a wall does not stand; the message names
// those that do not, and the sandbox has been removed. So it is when `stop` is asked for meanwhile.
Result<void> prove(const Sandbox& sandbox, const std::string& backend, const std::stop_token& stop = {});

}  // namespace cove::cli
