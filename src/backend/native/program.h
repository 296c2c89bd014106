#pragma once

// Another program than the guest as the first process of new namespaces: runsc, QEMU.

#include <span>
#include <string>

#include "backend/native/enter.h"
#include "backend/native/plan.h"
#include "base/deadline.h"
#include "os/child.h"
#include "os/limits.h"
#include "os/users.h"

namespace cove::native {

struct ProgramPlan : Plan {
  int program = -1;  // opened by the keeper: the directories on the way may be private
  int log = -1;      // what it says, a memory file
};

// On its way: it waits for native::let_go().
struct Launched {
  os::Child child;
  UniqueFd sync;  // holds a StepFailure, if there was one
  UniqueFd log;
};

struct LaunchSpec {
  const std::string& program;
  std::uint64_t namespaces;
  std::span<const Step> steps;
  const os::Users& users;
  const os::LimitGroup* limits;  // entered before anything happens; nullptr: none
};
// Fills in the plan's descriptors, which are the child's.
Result<Launched> launch(ProgramPlan& plan, const LaunchSpec& spec, Deadline deadline);

}  // namespace cove::native
