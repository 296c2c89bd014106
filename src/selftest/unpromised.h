#pragma once

#include <string_view>

namespace cove::selftest {

// Why a backend that has walls does not promise what this attempt tries; "" if it does. As its header says.
std::string_view unpromised(std::string_view backend, std::string_view attempt);

}  // namespace cove::selftest
