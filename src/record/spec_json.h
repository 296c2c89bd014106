#pragma once

#include <nlohmann/json_fwd.hpp>

#include "spec/spec.h"

namespace cove::record {

// The fields of a spec that are stored, by name; without the environment.
nlohmann::json spec_fields_json(const SandboxSpec& spec);

}  // namespace cove::record
