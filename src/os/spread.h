#pragma once

#include <string>

#include "base/error.h"

namespace cove::os {

// A private directory (0700) for directories that come and go; one that is there is fine. ext4 does not use an inode
// again for minutes after its file went, and looks for one beyond all those; so each child is put somewhere else on the
// disk: half the time for the files in it. Other file systems do not know this.
Result<void> make_spread_directory(const std::string& path);

}  // namespace cove::os
