#pragma once

// Descriptors over unix sockets.

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace cove::os {

// As send(), without SIGPIPE; with the first byte goes a copy of `fd`, if it is one.
ssize_t send_with_fd(int socket, std::string_view bytes, int fd, int flags = 0);

// What came at once: at most `most` bytes, and a descriptor, closed on exec, if there was exactly one. No bytes: the
// end, or an error.
struct Received {
  std::string bytes;
  UniqueFd fd;
};
Received receive_with_fd(int socket, std::size_t most);

}  // namespace cove::os
