#pragma once

#include "base/unique_fd.h"
#include "record/record.h"

namespace cove::record {

// $COVE_HOME/sandboxes, opened; made if missing.
Result<UniqueFd> open_sandboxes();

}  // namespace cove::record
