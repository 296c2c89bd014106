#pragma once

// Which variables a sandbox sees. Called by the client, before a keeper is started; the result is SandboxSpec.env.
//
//   isolating backends   a small base (PATH, HOME, USER, LANG, TERM, TZ, SHELL), nothing of the host
//   engines              TERM; the image's own, and what it lacks of the base, are added inside
//   local                the host's environment without provider secrets and without our own COVE_* variables
//   from a snapshot      those of the snapshot
//   then, on all         what is forwarded, then what is set: the later wins

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "spec/spec.h"

namespace cove::policy {

struct EnvRequest {
  std::vector<std::string> image = {};    // K=V that an image brings; what is forwarded or set wins
  std::vector<std::string> set = {};      // K=V, as in `-e`
  std::vector<std::string> forward = {};  // a name, or a pattern with '*'; a pattern never forwards what looks secret
};

using HostEnv = std::vector<std::pair<std::string, std::string>>;

// This process's environment.
HostEnv host_env();

// [A-Za-z_][A-Za-z0-9_]*
bool is_variable_name(std::string_view name);

// Fills spec.env and spec.env_names_forwarded according to spec.backend. A forwarded name that the host does not have
// is left out. invalid: a bad name, or `-e` without a value.
Result<void> fill_env(SandboxSpec& spec, const EnvRequest& request, const HostEnv& host);

}  // namespace cove::policy
