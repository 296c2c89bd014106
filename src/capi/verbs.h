#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "client/cove.h"

namespace cove::capi {

// One request to a sandbox, as cove.h lists them. `io` has the caller's callbacks; what a file holds goes to its
// output.
struct Asked {
  Sandbox& sandbox;
  const nlohmann::json& request;
  std::string_view bytes;
  CommandIo io;
  Call call;
};
Result<nlohmann::json> perform(Asked& asked);

}  // namespace cove::capi
