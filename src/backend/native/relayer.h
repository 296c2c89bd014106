#pragma once

// Exchanges overlays of a running sandbox for others, under its processes: by a child of the keeper that enters the
// sandbox's namespaces and lives for a moment.
//
// Whoever runs on sees the new files by absolute paths at once. What he has open, and his working directory, stay what
// they were: bytes written to an open file go to the old layer. A named pipe or socket that somebody holds there cannot
// be reached by its name any more.

#include <sys/types.h>

#include <vector>

#include "backend/native/plan.h"
#include "base/deadline.h"
#include "base/error.h"
#include "os/users.h"

namespace cove::native {

// `plan` has all overlays as they shall be, `changed` the indexes of those to exchange. On error nothing has changed,
// unless it is `internal`: then the sandbox must not go on.
Result<void> relayer(pid_t guest, const Plan& plan, const std::vector<std::size_t>& changed, const os::Users& users,
                     Deadline deadline);

}  // namespace cove::native
