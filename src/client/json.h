#pragma once

#include "client/cove.h"

namespace cove {

// The keeper's JSON about commands, as values.
Result<Outcome> parse_outcome(std::string_view json);
Result<std::vector<Outcome>> parse_outcomes(std::string_view json);

}  // namespace cove
