#pragma once

#include "client/cove.h"
#include "record/launch.h"

namespace cove {

// Starts `cove keeper`, hands it the request and waits until the sandbox is ready or could not be made.
// The keeper is nobody's child afterwards.
struct StartedKeeper {
  UniqueFd lifetime;  // of an owned sandbox: the pipe's write end
  std::string notes;  // what there is to know about how it came to be; "" mostly
};
Result<StartedKeeper> start_keeper(const record::LaunchRequest& request, const Call& call);

// The keeper's program: $COVE_PROGRAM, `cove` of program_folder() (guest_path.h), this program if it is `cove`, else
// `cove` on the PATH.
std::string keeper_program();

}  // namespace cove
