#pragma once

#include <optional>
#include <thread>

#include "backend/backend.h"
#include "backend/engine/container.h"
#include "backend/engine/door.h"

namespace cove::engine {

// Whether the engine keeps something of this sandbox while nobody runs it.
bool has_mark(const SandboxSpec& spec);

class EnginePlace final : public Place {
 public:
  // The container is on its way when this returns.
  static Result<std::unique_ptr<Place>> start(Container container, const SandboxSpec& spec, Deadline deadline);
  ~EnginePlace() override;

  Result<Channel> connect(Deadline deadline) override;
  // A socket of ours breaks only with one of its ends; what lies between a relay and its container may come back.
  std::chrono::milliseconds reconnect_within() const override {
    return std::chrono::seconds(container_.way() == Way::direct ? 2 : 30);
  }
  void settle(SandboxSpec& spec) const override;
  int gone_fd() const override { return guest_.get(); }
  Ended ended() override;
  std::uint64_t oom_kills() const override;
  std::vector<std::string> notes() const override { return notes_; }
  // A layer is an image of the engine's, of everything but what is mounted; a directory of ours stands for it.
  Result<bool> seal(const std::string& id, Deadline deadline) override;
  // Another container, of that image.
  Result<void> rewind(const std::vector<std::string>& layers, Deadline deadline) override;
  bool rewinds_to_new_guest() const override { return true; }
  Result<void> destroy(Deadline deadline) override;

 private:
  EnginePlace(Container container, SandboxSpec spec) : container_(std::move(container)), spec_(std::move(spec)) {}
  Result<void> begin(Deadline deadline);
  Result<UniqueFd> find_again();
  void began(Call call);
  Result<UniqueFd> wait_for_guest(Deadline deadline);
  Result<Channel> connect_directly(Deadline deadline);
  Result<Channel> connect_by_relay(Deadline deadline);
  Result<void> run_ended(Deadline deadline);
  void reap_run();
  void know_guest(int socket);
  void dismiss() const;
  Result<void> end(Deadline deadline);

  Container container_;
  SandboxSpec spec_;
  Door door_;
  std::optional<Call> run_;                 // the engine's call that makes it, while nobody has waited for its end
  Deadline run_until_ = Deadline::never();  // ... which may not take longer
  std::jthread run_reaper_;                 // ... and who waits for it when the guest was there first
  std::optional<os::Child> relay_;
  UniqueFd guest_;  // a pidfd: of the guest, or of what the container began with; none where it runs elsewhere
  std::string memory_group_;
  std::vector<std::string> notes_;
  bool over_ = false;
};

}  // namespace cove::engine
