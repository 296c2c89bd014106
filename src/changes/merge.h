#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace cove::changes {

// Several layers as one that shows the same on top of anything. Files, links, devices and whiteouts are hard links to
// those of the layers (so `into` must be on their file system); directories are made anew with their mode, owner, times
// and user extended attributes. Whiteouts and opaque marks stay where something below may need them.
// `into` must not exist (conflict). It is built aside, as .NAME.merging-PID in its directory, and renamed: it is there
// as a whole or not at all. After an error nothing is left; after a crash what is aside may be. Nothing is synced.
// Nothing may change the layers meanwhile.
Result<void> merge_layers(const std::vector<std::string>& trees_topmost_first, const std::string& into);

}  // namespace cove::changes
