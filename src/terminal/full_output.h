#pragma once

#include <chrono>
#include <string>

#include "base/error.h"
#include "terminal/bounded.h"

namespace cove::terminal {

// Output that a result has no room for, in a file that only its user can read:
// $COVE_HOME/output/out-TIME-PID-RANDOM.log. At most kMostSavedChars characters, with a line at the end that says so;
// what is older than kKeptFor goes when the next one comes. Only text that has been redacted is given to it.
inline constexpr std::size_t kMostSavedChars = 5'000'000;
inline constexpr std::chrono::hours kKeptFor{7 * 24};

// Its path. A disk that is full or a directory that is not ours is an error, and never the command's.
Result<std::string> save_full_output(const Parts& parts);

}  // namespace cove::terminal
