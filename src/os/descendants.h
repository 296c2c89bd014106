#pragma once

#include <sys/types.h>

#include <vector>

#include "base/deadline.h"
#include "base/error.h"

namespace cove::os {

// Every living process below `root`, without it: parents before their children. What ended meanwhile is not in it; what
// was made meanwhile may be missing. Zombies are not living.
std::vector<pid_t> descendants(pid_t root);

// One signal to each of them, now.
void signal_descendants(pid_t root, int signal);

// Kills (SIGKILL) what is below `root`, again and again until nothing is left, and reaps what became a child of this
// process. Complete only if `root` is a subreaper: then orphans stay below it. A process that merely has a recycled
// number is never hit. timeout: something did not die before the deadline (it hangs in the kernel).
Result<void> kill_descendants(pid_t root, Deadline deadline);

}  // namespace cove::os
