#pragma once

#include <sys/types.h>

#include <compare>
#include <set>
#include <vector>

#include "base/deadline.h"
#include "base/error.h"

namespace cove::os {

// Every living process below `root`, without it: parents before their children. What ended meanwhile is not in it; what
// was made meanwhile may be missing. Zombies are not living.
std::vector<pid_t> descendants(pid_t root);

// One signal to each of them, now.
void signal_descendants(pid_t root, int signal);
// TERM, and CONT so that a stopped one hears it, to each of them that is not in `told`; afterwards it is. One that has
// turned into another program since then is told again: a shell's child catches the signal until its exec and forgets
// it.
struct Told {
  pid_t pid;
  unsigned long program;  // different after each exec
  friend auto operator<=>(const Told&, const Told&) = default;
};
void terminate_newcomers(pid_t root, std::set<Told>& told);

// Kills (SIGKILL) what is below `root`, again and again until nothing is left, and reaps what became a child of this
// process. Complete only if `root` is a subreaper: then orphans stay below it. A process that merely has a recycled
// number is never hit. timeout: something did not die before the deadline (it hangs in the kernel).
Result<void> kill_descendants(pid_t root, Deadline deadline);

}  // namespace cove::os
