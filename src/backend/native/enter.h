#pragma once

// From clone to exec inside a new sandbox: an ordered list of steps, walked without allocating.

#include <string>

#include "backend/native/plan.h"
#include "base/error.h"

namespace cove::native {

// What the two sides say on the sync socket: the keeper one byte when the ids are mapped and the limits are set, with
// the volumes' mounts attached; the child a StepFailure, or end of file when the guest runs.
struct StepFailure {
  int step;
  int number;  // errno
  int detail;  // which layer or volume, -1 for none
};

// In the child. Ends in the guest; returns only after a failure that it has told.
void enter(const Plan& plan);

// In the keeper: the failure as a sentence with the way out.
Error explain(const StepFailure& failure, const Plan& plan);

}  // namespace cove::native
