#pragma once

#include <string>

#include "backend/gvisor/enter.h"
#include "base/deadline.h"
#include "os/child.h"
#include "os/limits.h"
#include "os/users.h"

namespace cove::gvisor {

// runsc on its way, as the first process of its namespaces.
struct Launched {
  os::Child runsc;
  UniqueFd sync;  // holds a StepFailure, if there was one
  UniqueFd log;   // what runsc says, a memory file
};

enum class Network : unsigned char { own, host };

// Fills in the plan's descriptors. The limits' groups, if any, are entered before runsc runs.
Result<Launched> launch(RunscPlan& plan, const std::string& program, const os::Users& users, Network network,
                        const os::LimitGroup* limits, Deadline deadline);

// The last thing that runsc has said about what went wrong; "" if nothing.
std::string last_words(int log);

}  // namespace cove::gvisor
