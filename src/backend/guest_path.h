#pragma once

#include <string>

#include "base/error.h"

namespace cove {

// The guest program on this machine: $COVE_GUEST, else beside this program, else ../libexec/cove/cove-guest from it.
Result<std::string> find_guest();

}  // namespace cove
