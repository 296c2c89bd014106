#pragma once

#include "client/cove.h"
#include "terminal/tool.h"

namespace cove::capi {

// The terminal tool of this process. After a fork() the child has another one, which knows nothing: the sandboxes are
// the parent's, and only the parent ends them.
terminal::Terminal& tool();

// Handles whose sandboxes a child must not end either.
void remember(Sandbox* sandbox);
void forget(Sandbox* sandbox);

}  // namespace cove::capi
