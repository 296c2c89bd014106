#pragma once

#include "cli/arguments.h"
#include "cli/msb/msb.h"

namespace cove::cli::msb {

// What `create` and `run` take.
struct SandboxOptions {
  Common common;
  std::string image, name, workdir, user, pull = "if-missing";
  std::vector<std::string> volumes, env;
  double cpus = 0;
  std::uint64_t memory_bytes = 0;
  std::chrono::milliseconds max_duration{0}, idle_timeout{0};
  bool no_net = false, replace = false;
};

void define(Arguments& arguments, SandboxOptions& options);

// The sandbox that msb would have made; the image is fetched where it must be.
Result<SandboxSpec> make_spec(const SandboxOptions& options);
// Makes it, after the one of the same name is gone if that was asked for.
Result<Sandbox> create(const SandboxOptions& options, const SandboxSpec& spec);

// K=V, or K for what it is here and now.
Result<std::vector<std::string>> with_values(const std::vector<std::string>& entries);

Result<std::string> chosen_backend();

}  // namespace cove::cli::msb
