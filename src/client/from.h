#pragma once

#include "backend/spec.h"
#include "base/error.h"

namespace cove {

// Completes a spec that names a snapshot (`from`): its image, layers, directory and variables, where the spec has none
// of its own.
Result<void> stand_on_snapshot(SandboxSpec& spec);

}  // namespace cove
