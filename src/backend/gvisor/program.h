#pragma once

// runsc as it is found on this machine.

#include <optional>
#include <string>

#include "base/deadline.h"
#include "base/error.h"
#include "base/unique_fd.h"

namespace cove::gvisor {

struct Program {
  std::string path, version;
  std::string platform;          // the first of systrap and ptrace that works here
  std::optional<bool> restores;  // whether a checkpoint could be taken and restored; none: not tried yet
  bool knows_statx = false;      // as today's coreutils use it; 20221219 refuses AT_NO_AUTOMOUNT, and `ls` with it
};

// COVE_RUNSC, else along PATH and where it usually is. not_found: how to get it.
Result<std::string> find_runsc();
// Found out by running it, in the namespaces that sandboxes get, and remembered in $COVE_HOME/cache/gvisor.json until
// the program or the kernel changes. unsupported: why it does not run here.
void remember(const Program& program);
Result<Program> probe_runsc(Deadline deadline);

}  // namespace cove::gvisor
