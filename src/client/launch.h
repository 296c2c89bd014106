#pragma once

#include "client/cove.h"
#include "record/launch.h"

namespace cove {

// Starts `cove keeper`, hands it the request and waits until the sandbox is ready or could not be made.
// The keeper is nobody's child afterwards. For an owned sandbox the result is the lifetime pipe's write end.
Result<UniqueFd> start_keeper(const record::LaunchRequest& request, const Call& call);

// The keeper's program: $COVE_PROGRAM, this program if it is `cove`, else `cove` on the PATH.
std::string keeper_program();

}  // namespace cove
