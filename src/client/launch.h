#pragma once

#include "client/cove.h"
#include "proto/launch.h"

namespace cove {

// Starts a keeper, hands it the request and waits until the sandbox is ready or could not be made. The keeper is
// nobody's child afterwards.
struct StartedKeeper {
  UniqueFd lifetime;  // of an owned sandbox, which ends when this closes
  std::string notes;  // what there is to know about how it came to be; "" mostly
};
Result<StartedKeeper> start_keeper(const proto::LaunchRequest& request, const Call& call);

// The keeper's program: $COVE_PROGRAM, `cove` of program_folder() (guest_path.h), this program if it is `cove`, else
// `cove` on the PATH.
std::string keeper_program();

// Runs it with these arguments and the socket as its descriptor proto::kLaunchFd, as nobody's child.
Result<void> spawn_keeper(std::vector<std::string> arguments, int socket);

}  // namespace cove
