#pragma once

// Container engines: docker, podman, and what answers as they do. One container per sandbox, made by one `run`
// (arguments.h: what it may do), the guest in it as a read-only mount, reached by a socket in a directory of the
// sandbox's own (door.h): no engine process and no hop on the path of a command.
//
// Guarantees: the walls of arguments.h; a container ends with its keeper, also after kill -9, unless it is persistent;
// no variable of the sandbox is in an argument list or in what the engine shows; a limit is enforced or refused; every
// engine call has a deadline. Not guaranteed: a wall against faults of the kernel itself, which containers share
// (--runtime runsc has one), nor against the engine, whose daemon is root on its machine.

#include "backend/backend.h"

namespace cove::engine {

class EngineBackend final : public Backend {
 public:
  explicit EngineBackend(std::string kind) : kind_(std::move(kind)) {}

  std::string_view name() const override { return kind_; }
  // What it would run is not known without an image.
  Probe probe(Deadline deadline) override;
  Result<std::unique_ptr<Place>> start(const SandboxSpec& spec, Deadline deadline) override;
  Result<void> forget(const SandboxSpec& spec, Deadline deadline) override;
  Result<std::vector<Leftover>> leftovers(const std::string& home, const Alive& alive, Deadline deadline) override;
  Result<void> clear(const std::string& home, const Leftover& leftover, Deadline deadline) override;

 private:
  std::string kind_;
};

}  // namespace cove::engine
