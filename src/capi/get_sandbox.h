#pragma once

#include <nlohmann/json_fwd.hpp>

#include "client/cove.h"

namespace cove::capi {

// {"verb": "create" | "open" | "restart", ...}, as cove.h says.
Result<Sandbox> get_sandbox(const nlohmann::json& request, const Call& call);

}  // namespace cove::capi
