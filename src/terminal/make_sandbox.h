#pragma once

#include "client/cove.h"
#include "terminal/settings.h"

namespace cove::terminal {

// The settings' spec with its image settled and its environment filled.
Result<SandboxSpec> complete_spec(const Settings& settings);

// A sandbox for a task, as the settings want it; see tasks.h about names and what is found again. conflict: a
// persistent one is there that is another kind of sandbox.
struct Made {
  Sandbox sandbox;
  std::string backend;  // what `auto` became
  bool found = false;   // it was there already, running or stopped
};
Result<Made> make_sandbox(const std::string& task, const Settings& settings, const Call& call);

}  // namespace cove::terminal
