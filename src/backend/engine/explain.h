#pragma once

#include <string>
#include <vector>

#include "backend/engine/program.h"

namespace cove::engine {

// What an engine's refusal means, as one sentence with the way out. Codes that say "later may help": busy,
// disconnected. not_found: an image or a container that is not there; conflict: a name that is taken.
Error explain(const Program& program, const std::vector<std::string>& args, const Said& said);

}  // namespace cove::engine
