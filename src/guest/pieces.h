#pragma once

#include <cstdint>

namespace cove::guest {

// The two directions, for whoever has the other end of the port: all of `from` as pieces, or the pieces of a port until
// their end. What comes after an error of `to` is read and dropped: the port must be empty for the next one. After more
// than `most` bytes it is not read any more.
bool send_pieces(int from, int port);
bool take_pieces(int port, int to, std::uint64_t most = UINT64_MAX);

}  // namespace cove::guest
