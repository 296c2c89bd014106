#pragma once

#include <optional>

#include "backend/apptainer/lines.h"
#include "backend/backend.h"
#include "backend/engine/program.h"

namespace cove::apptainer {

// An instance that is on its way, with what it keeps on disk.
struct Instance {
  engine::Program program;
  InstanceSpec spec;
  std::string directory;  // in the scratch directory
};

// Idempotent. When it returns without error there is no such instance any more.
Result<void> stop_instance(const engine::Program& program, const std::string& name);
// The directories of an instance; as they are if they are there.
Result<void> make_directories(const std::string& directory);
Result<void> remove_directory(const std::string& directory);

class ApptainerPlace final : public Place {
 public:
  static Result<std::unique_ptr<Place>> start(Instance instance, const SandboxSpec& spec);
  ~ApptainerPlace() override;

  Result<Channel> connect(Deadline deadline) override;
  Result<void> started() override;
  void settle(SandboxSpec& spec) const override;
  int gone_fd() const override { return guest_ ? guest_->pidfd() : -1; }
  Ended ended() override;
  Result<void> destroy(Deadline deadline) override;

 private:
  ApptainerPlace(Instance instance, const SandboxSpec& spec)
      : instance_(std::move(instance)), persistent_(spec.persistent) {}
  Result<void> end(Deadline deadline);

  Instance instance_;
  bool persistent_;
  std::optional<engine::Call> start_;  // while nobody has waited for its end
  std::optional<os::Child> guest_;     // apptainer's own process, which ends with the guest
  UniqueFd socket_, said_;             // our end of the channel; what apptainer says about it
  bool over_ = false;
};

}  // namespace cove::apptainer
