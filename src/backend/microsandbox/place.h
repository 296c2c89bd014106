#pragma once

#include <optional>

#include "backend/backend.h"
#include "backend/microsandbox/program.h"

namespace cove::microsandbox {

class MicrosandboxPlace final : public Place {
 public:
  static Result<std::unique_ptr<Place>> start(Msb msb, const SandboxSpec& spec);
  ~MicrosandboxPlace() override;

  Result<Channel> connect(Deadline deadline) override;
  void settle(SandboxSpec& spec) const override { spec.inherits = true; }
  std::vector<std::string> notes() const override { return notes_; }
  int gone_fd() const override { return exec_ ? exec_->pidfd() : -1; }
  Ended ended() override;
  Result<void> destroy(Deadline deadline) override;

 private:
  MicrosandboxPlace(Msb msb, Takes takes, const SandboxSpec& spec);
  Result<void> begin(const SandboxSpec& spec);

  Msb msb_;
  Takes takes_;
  std::string name_;
  std::optional<os::Child> exec_;  // one `msb exec`, whose ends are the channel
  std::vector<std::string> notes_;
  bool persistent_ = false, over_ = false;
};

}  // namespace cove::microsandbox
