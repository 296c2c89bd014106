#pragma once

// What crashed keepers left behind. It is found by looking, not by remembering.

#include <chrono>
#include <vector>

#include "backend/backend.h"

namespace cove::cli {

inline constexpr std::chrono::seconds kLeftoverTime{30};

Result<std::vector<Leftover>> find_leftovers(Deadline deadline);
Result<void> clear_leftover(const Leftover& leftover, Deadline deadline);
// One line each, or a JSON array of {"kind", "name"}.
void show_leftovers(const std::vector<Leftover>& leftovers, bool json);

}  // namespace cove::cli
