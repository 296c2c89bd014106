#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/unique_fd.h"

namespace cove::guest {

// A non-blocking socket connected (or connecting) to {"tcp", ADDRESS, PORT} or {"unix", PATH} inside the sandbox.
// ADDRESS is a number or "localhost": a static program has no resolver, and port forwarding needs none.
Result<UniqueFd> connect_inside(const std::vector<std::string>& target);

}  // namespace cove::guest
