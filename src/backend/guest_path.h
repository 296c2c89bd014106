#pragma once

#include <string>

#include "base/error.h"

namespace cove {

// A program of ours that comes with this one: where $VARIABLE says, else beside this program, else in
// ../libexec/cove from it.
Result<std::string> find_companion(const std::string& name, const std::string& variable);

// The guest program on this machine: the companion `cove-guest`, or $COVE_GUEST.
Result<std::string> find_guest();

}  // namespace cove
