#pragma once

#include <map>

#include "cli/arguments.h"
#include "spec/spec.h"

namespace cove::cli {

// The common options of `run` and `create`: what kind of sandbox.
struct SpecOptions {
  std::map<std::string, std::string> settings;  // by key; checked when parsed
  std::map<std::string, bool> switches;         // ... those without a value
  std::vector<std::string> env, forward_env, volumes, require;
  std::string cwd, from, pull = "missing";
  bool checkpoint = false, sys = false;
  bool prove = false, persistent = false, no_login = false;
};

void define(Arguments& arguments, SpecOptions& options);

// Configuration, then options, then the environment for the sandbox.
Result<SandboxSpec> make_spec(const SpecOptions& options);

}  // namespace cove::cli
