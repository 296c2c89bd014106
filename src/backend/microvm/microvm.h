#pragma once

// Sandboxes that are machines: QEMU's `microvm`, Debian's kernel, our guest as its first program.
//
// Guarantees: a kernel of its own; the machine's memory and processors are what was asked for; with net=none it has no
// network device; QEMU itself is nobody in namespaces of its own (jail.h), and dies with the keeper; no process, mount
// or file outlives destroy(). A machine that goes on from saved memory has its own random numbers, time, machine id,
// boot id and hardware address before the first command runs. A panic inside is told as such. Not guaranteed: speed of
// code where KVM does not run it (accel.h); a disk limit for files that are kept in memory.

#include "backend/backend.h"

namespace cove::microvm {

class MicrovmBackend final : public Backend {
 public:
  std::string_view name() const override { return "microvm"; }
  Probe probe(Deadline deadline) override;
  Result<std::unique_ptr<Place>> start(const SandboxSpec& spec, Deadline deadline) override;
};

}  // namespace cove::microvm
