#pragma once

// The guest as a child of the keeper: what `local`, `landlock` and `native` share.

#include "backend/backend.h"
#include "os/child.h"

namespace cove {

class HostProcess : public Place {
 public:
  // Runs the guest with the channel as its descriptor 3, in a session of its own, with nothing else of ours. The spec
  // comes with program, environment, directory and walls.
  static Result<HostProcess> start(os::ExecSpec exec, std::string backend);

  // One that was started otherwise, and the keeper's end of its channel.
  HostProcess(os::Child guest, UniqueFd socket, std::string backend)
      : guest_(std::move(guest)), socket_(std::move(socket)), backend_(std::move(backend)) {}
  HostProcess(HostProcess&&) noexcept = default;
  ~HostProcess() override;

  Result<Channel> connect(Deadline) override;
  int gone_fd() const override { return guest_.pidfd(); }
  pid_t pid() const { return guest_.pid(); }
  Ended ended() override;
  // Complete if this process is a subreaper.
  Result<void> destroy(Deadline deadline) override;

 private:
  Result<void> end(Deadline deadline);

  os::Child guest_;
  UniqueFd socket_;  // none: nothing is left to end
  std::string backend_;
  bool connected_ = false;
};

// The directory that a spec asks for, `home` where it asks for none; "~" is `home`.
std::string start_directory(const SandboxSpec& spec, const std::string& home);

}  // namespace cove
