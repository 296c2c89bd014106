#pragma once

// Apptainer and singularity, as clusters have them: no daemon, no root. One instance per sandbox, made of a .sif file,
// a directory, or an image that is built once of an address (scratch.h); the guest is bound in read-only and run by one
// `exec`, whose standard input and output are the channel.
//
// Guarantees: of the host's files only the image, the guest and the listed mounts are visible; namespaces of its own
// for mounts, processes, IPC, the host's name and, with net=none, the network; no privileges; the native sandbox's
// filter of system calls, which the guest puts up; inside, one is who one is outside. A limit is enforced or refused.
// kill -9 of the keeper ends the commands, and the instance with them where apptainer (not singularity) runs it; what
// is left is found by 'cove gc'. Not guaranteed: a wall against faults of the kernel; anything to root, who is refused.

#include "backend/backend.h"

namespace cove::apptainer {

class ApptainerBackend final : public Backend {
 public:
  std::string_view name() const override { return "apptainer"; }
  // What it would run is not known without an image.
  Probe probe(Deadline) override;
  Result<std::unique_ptr<Place>> start(const SandboxSpec& spec, Deadline deadline) override;
  Result<void> forget(const SandboxSpec& spec, Deadline deadline) override;
  Result<std::vector<Leftover>> leftovers(const std::string& home, const Alive& alive, Deadline deadline) override;
  Result<void> clear(const std::string& home, const Leftover& leftover, Deadline deadline) override;
};

}  // namespace cove::apptainer
