#pragma once

// Apptainer and singularity, as HPC machines have them. So far the probe and the command lines (lines.h): sandboxes are
// not started yet, and a start says so.

#include "backend/backend.h"

namespace cove::apptainer {

class ApptainerBackend final : public Backend {
 public:
  std::string_view name() const override { return "apptainer"; }
  Probe probe(Deadline) override;
  Result<std::unique_ptr<Place>> start(const SandboxSpec& spec, Deadline deadline) override;
};

}  // namespace cove::apptainer
