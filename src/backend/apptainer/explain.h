#pragma once

#include <string>

#include "backend/engine/program.h"

namespace cove::apptainer {

// What apptainer's refusal means, as one sentence with the way out. Codes that say "later may help": busy,
// disconnected.
Error explain(const std::string& doing, const engine::Said& said);

}  // namespace cove::apptainer
