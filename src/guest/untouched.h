#pragma once

// Whether a shell that has run a command can run another one: its process is as if it had not.

#include <string>

#include "guest/process.h"

namespace cove::guest {

// No child, no descriptor, no limit and no other directory than `cwd` is left in it. What cannot be looked at counts as
// touched. (That its variables, traps and options are those of its session it tells itself.)
// `go` is what it waits on: what has come too late for it would be taken for the next command.
bool is_untouched(const Process& shell, int go, const Trees& trees, const std::string& cwd);

}  // namespace cove::guest
