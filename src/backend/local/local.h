#pragma once

// Commands on this machine itself, as this user: convenience without walls.
//
// Guarantees: no process outlives destroy(), also not one that called setsid; the environment is exactly the spec's;
// the guest runs in a session of its own and nothing of the caller's terminal or descriptors reaches it; no file is
// made. Not guaranteed: any isolation. A command can read, change and end whatever this user can. No limit is enforced,
// so image, net, cpus, memory, pids, disk and volumes are refused rather than ignored.

#include "backend/backend.h"

namespace cove::local {

class LocalBackend final : public Backend {
 public:
  std::string_view name() const override { return "local"; }
  Probe probe(Deadline deadline) override;
  Result<std::unique_ptr<Place>> start(const SandboxSpec& spec, Deadline deadline) override;
};

// invalid or unsupported, with the option and what to do.
Result<void> check(const SandboxSpec& spec);

}  // namespace cove::local
