#pragma once

// From what was asked for to what is made. Everyone who makes sandboxes (cli, C API, terminal tool, MCP, msb) completes
// a spec by this one function, so that the same wishes give the same sandbox.

#include <string>
#include <vector>

#include "base/error.h"
#include "client/image.h"
#include "spec/spec.h"

namespace cove {

struct Completion {
  std::vector<std::string> given = {};              // keys of settings that were asked for, not configured
  std::vector<std::string> env = {}, forward = {};  // K=V; names and patterns: see policy/env.h
  PullOutput pull_output = PullOutput::quiet;
  std::string otherwise_in = "/workspace";  // where sessions start if neither the caller nor the image says it
};

// Settles in this order: the backend of a snapshot, the options of the backend, the image (fetched where `pull` wants
// it), the directory, the environment. invalid, unsupported: a wish that cannot be honoured.
Result<SandboxSpec> complete(SandboxSpec wanted, const Completion& how);

// Where sessions start if nothing says otherwise; "": the image decides.
std::string usual_directory(const SandboxSpec& spec, const std::string& otherwise_in = "/workspace");

}  // namespace cove
