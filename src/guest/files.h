#pragma once

#include <string>

#include "base/error.h"
#include "proto/messages.h"

namespace cove::guest {

struct FileOutcome {
  Errc error = Errc::internal;
  std::string error_text;  // "" is success
};

// Does what proto::FileOp says, with stdin from in_fd (to its end) and output to out_fd, both blocking. Relative paths
// start at the current directory; `~` means nothing here.
// For a process of its own: it blocks as long as its descriptors do, and it ignores SIGPIPE from here on, so that a
// reader who goes away is an error (disconnected) like any other.
FileOutcome run_file_request(const proto::FileRequest& request, int in_fd, int out_fd);

}  // namespace cove::guest
