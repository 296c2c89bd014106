#pragma once

#include <string>

#include "backend/gvisor/enter.h"

namespace cove::gvisor {

using native::Launched;

enum class Network : unsigned char { own, host };

// runsc on its way, as the first process of its namespaces.
Result<Launched> launch(RunscPlan& plan, const std::string& program, const os::Users& users, Network network,
                        const os::LimitGroup* limits, Deadline deadline);

// The last thing that runsc has said about what went wrong; "" if nothing.
std::string last_words(int log);

}  // namespace cove::gvisor
