#pragma once

namespace cove::guest {

// Moves bytes between descriptors 0 and 1 and the socket at `path`, where another guest listens (--listen): the way in
// for a keeper that can start a program inside but not reach its sockets. Waits a few seconds for a socket that is not
// there yet. Returns when either side has ended and what it said before has been passed on: the program's exit code.
int relay(const char* path);

}  // namespace cove::guest
