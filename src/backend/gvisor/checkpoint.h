#pragma once

// A sandbox's whole memory as a file, and back: runsc checkpoint and restore.

#include <string>

#include "backend/gvisor/bundle.h"
#include "backend/gvisor/launch.h"
#include "backend/gvisor/program.h"

namespace cove::gvisor {

// Unique on this machine: two sandboxes of one network must not be taken for each other.
std::string make_id();
// Whether runsc says that its sandbox runs.
bool is_running(const Launched& launched, const RunscSpec& runsc);

// The memory goes to `directory`, which is made; the sandbox has ended afterwards. Nobody may be connected.
Result<void> save(Launched& launched, const Program& program, const RunscSpec& runsc, const os::Users& users,
                  const std::string& directory, Deadline deadline);
// A sandbox that goes on where the saved one was; it is on its way when this returns.
Result<Launched> restore(RunscPlan& plan, const Program& program, RunscSpec runsc, const os::Users& users,
                         const os::LimitGroup* limits, const std::string& directory, Deadline deadline);

// Found out by saving and restoring a sandbox like this one, once, and remembered. unsupported: it did not come back.
Result<void> check_restore(Program& program, const RunscPlan& like, const os::Users& users, const std::string& network,
                           const std::string& directory, Deadline deadline);

}  // namespace cove::gvisor
