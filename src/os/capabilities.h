#pragma once

// In a child, without allocation. False: errno says why.

#include <span>

namespace cove::os {

// What no later exec can bring back: everything but `kept`. Needs CAP_SETPCAP.
bool bound_capabilities(std::span<const int> kept);
// What this process has from now on: exactly `kept`, of which it must have all; nothing is handed down by inheritance.
bool set_capabilities(std::span<const int> kept);

}  // namespace cove::os
