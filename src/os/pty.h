#pragma once

#include <cstdint>

#include "base/error.h"
#include "base/unique_fd.h"

namespace cove::os {

// A pseudo terminal: `master` is ours (non-blocking), `slave` goes to the child as 0, 1 and 2.
struct Pty {
  UniqueFd master, slave;
};

Result<Pty> open_pty(std::uint16_t rows, std::uint16_t columns);
Result<void> resize_pty(int master, std::uint16_t rows, std::uint16_t columns);

}  // namespace cove::os
