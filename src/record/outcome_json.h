#pragma once

#include <nlohmann/json_fwd.hpp>

#include "proto/client.h"

namespace cove::record {

// What every JSON of a command's outcome has in common; exit_code is null while it runs.
nlohmann::json outcome_json(const proto::Outcome& outcome);

}  // namespace cove::record
