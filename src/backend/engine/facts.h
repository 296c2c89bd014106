#pragma once

// What there is to know of an engine: asked once, kept in $COVE_HOME/cache/engine-HASH.json, asked again when the
// program, the address or the daemon is another one, or after a call has failed.

#include <string>
#include <vector>

#include "backend/engine/program.h"

namespace cove::engine {

struct Facts {
  bool podman = false;                              // whatever its program is called
  bool local = false;                               // its containers run on this kernel, and it sees our files
  bool rootless = false;                            // root inside is a user outside
  bool remapped = false;                            // ... by a user namespace that is not ours
  bool memory = false, cpus = false, pids = false;  // limits that it enforces
  std::string version, driver, runtime;             // of storage; what runs containers unless another one is named
  std::vector<std::string> runtimes;

  // Whether a socket that the guest makes in a directory of ours can be connected to from here.
  bool reaches(const std::string& wanted_runtime) const;
};

// `home` is COVE_HOME; "" keeps nothing.
Result<Facts> find_facts(const Program& program, const std::string& home, Deadline deadline);
void forget_facts(const Program& program, const std::string& home);

// Every engine of this kind that this COVE_HOME has used.
std::vector<Program> used_engines(const std::string& kind, const std::string& home);

}  // namespace cove::engine
