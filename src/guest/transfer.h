#pragma once

#include "base/error.h"
#include "base/unique_fd.h"
#include "proto/messages.h"

namespace cove::guest {

// Does what a file request says in a process of its own, with its input from the machine's port for files, or its
// output to it (proto/machine.h). The descriptor gives the error's text and ends when all is done.
Result<UniqueFd> start_transfer(const proto::FileRequest& request, bool put);

}  // namespace cove::guest
