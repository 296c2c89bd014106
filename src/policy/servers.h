#pragma once

#include "policy/call.h"

namespace cove::policy {

// A development server or watcher: stays until it is ended.
bool is_server(const Call& call);
// Prints for ever.
bool never_ends(const Call& call);
// Does nothing useful without a screen.
bool wants_screen(const Call& call);

}  // namespace cove::policy
