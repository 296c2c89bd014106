#pragma once

// Sandboxes on a kernel of their own, gVisor's, written in Go: stand-alone runsc, no daemon.
//
// runsc runs where a native sandbox's guest would: as the first process of new user, pid, mount and network namespaces,
// with the same root below it, put together from the same layers. Its own state lies in memory there and goes with it.
// Inside, the guest listens (--listen) and is reached by one long-lived `runsc exec` (--relay).
//
// Guarantees: commands talk to gVisor, not to this kernel; no process outlives destroy(), and kill -9 of the keeper
// ends the sandbox at once; with net=none there is no device but loopback; nothing of the host is visible but the image
// and the listed mounts; a limit is enforced or refused. What a crash leaves is the sandbox's directory and its control
// groups, which are named as native ones are and found with them. Not guaranteed: speed of system calls; what gVisor
// does not implement; --pids (gVisor counts none).

#include "backend/backend.h"

namespace cove::gvisor {

class GvisorBackend final : public Backend {
 public:
  std::string_view name() const override { return "gvisor"; }
  Probe probe(Deadline deadline) override;
  Result<std::unique_ptr<Place>> start(const SandboxSpec& spec, Deadline deadline) override;
};

}  // namespace cove::gvisor
