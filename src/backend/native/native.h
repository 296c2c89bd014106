#pragma once

// Linux namespaces on this kernel: no daemon, no download, with or without root.
//
// Guarantees: own user, mount, pid, ipc, uts, cgroup and (unless --net host) network namespaces; the guest is pid 1, so
// its death is the end of everything inside; a root that is an overlay of an image and a private layer; no new
// privileges, few capabilities (walls.h), a system call filter (os/seccomp.h). Not guaranteed: a wall against faults of
// the kernel itself, which the sandbox shares.

#include <optional>

#include "backend/backend.h"
#include "backend/native/first_process.h"

namespace cove::native {

class NativeBackend final : public Backend {
 public:
  std::string_view name() const override { return "native"; }
  Probe probe(Deadline deadline) override;
  std::string why_not(Deadline deadline) override;
  void prepare(const SandboxSpec& spec) override;
  int outdated_fd() const override { return mounts_.get(); }
  void drop_prepared() override;
  Result<std::unique_ptr<Place>> start(const SandboxSpec& spec, Deadline deadline) override;
  Result<std::vector<Leftover>> leftovers(const std::string& home, const Alive& alive, Deadline deadline) override;
  Result<void> clear(const std::string& home, const Leftover& leftover, Deadline deadline) override;

 private:
  Result<FirstProcess> take_first(const Plan& plan, const os::Users& users, Deadline deadline);

  std::optional<FirstProcess> prepared_;
  UniqueFd mounts_;  // of this machine, as prepared_ has a copy of them
};

}  // namespace cove::native
