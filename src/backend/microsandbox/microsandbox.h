#pragma once

// The `msb` that users already have: one microVM of its own kernel per sandbox, the guest brought in as a read-only
// volume and reached by one long-lived `msb exec`. Needs KVM that really runs guests (microvm/accel.h): without it msb
// takes 12 to 19 seconds to find that out.
//
// Guarantees: a kernel of its own; variables go over the channel, never into an argument list; a limit is enforced or
// refused. Not guaranteed: what msb itself leaves behind if it is killed while it works ('cove gc' finds our sandboxes
// in it), and that a sandbox ends at once with a keeper that was killed: then its guest ends, and the next 'cove' that
// clears up removes it.

#include "backend/backend.h"

namespace cove::microsandbox {

class MicrosandboxBackend final : public Backend {
 public:
  std::string_view name() const override { return "microsandbox"; }
  // What it would run is not known without an image.
  Probe probe(Deadline deadline) override;
  Result<std::unique_ptr<Place>> start(const SandboxSpec& spec, Deadline deadline) override;
  Result<void> forget(const SandboxSpec& spec, Deadline deadline) override;
  Result<std::vector<Leftover>> leftovers(const std::string& home, const Alive& alive, Deadline deadline) override;
  Result<void> clear(const std::string& home, const Leftover& leftover, Deadline deadline) override;
};

}  // namespace cove::microsandbox
