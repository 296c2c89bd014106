#pragma once

// What a task's sandbox is, and how its commands are run. From, each on top of the one before:
//
//   config.toml          the keys of spec/settings.h, then the same and more in its table [terminal]
//   TERMINAL_*           the variables of the Python tool that this one stands in for (reference.cc)
//   COVE_*               those of spec/settings.h, and COVE_TERMINAL_KEY for each key of [terminal]
//   the call's own       `overrides` of a task or a request
//
// Everything is read at each call; a file that has not changed is not parsed again. A value that cannot be understood
// is an error that names it: nothing is guessed, and no backend stands in for another one.

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "backend/traits.h"
#include "base/error.h"
#include "policy/env.h"
#include "spec/spec.h"

namespace cove::terminal {

struct Settings {
  // What is asked for; its timeout_ms and idle_timeout_ms are the two below, once read() is done.
  SandboxSpec spec;
  std::vector<std::string> env, forward_env;  // K=V; names and patterns
  std::vector<std::string> given;             // keys of sandbox settings that were set by name
  std::chrono::milliseconds timeout{180'000}, max_foreground{600'000}, lifetime{300'000};
  std::vector<std::string> deny, ask;  // patterns of commands (guard.h); each source adds to them
  std::string ask_program;             // who decides about those of `ask` where the caller brings nobody
  std::chrono::milliseconds ask_timeout{300'000};
  std::size_t output_chars = 50'000;
  bool fail_when_degraded = false;
  std::vector<std::string> warnings;  // what was left out, a sentence each

  bool isolated() const { return traits_of(spec.backend).isolates; }
};

// From the surroundings, then `overrides` (an object, or null).
Result<Settings> read_settings(const policy::HostEnv& everything, const nlohmann::json& overrides);

// One value of [terminal], COVE_TERMINAL_* or overrides.
Result<void> apply_setting(Settings& settings, const std::string& given, const nlohmann::json& value);
// reference.cc: the TERMINAL_* variables. Those of containers are read only where a container is asked for.
Result<void> apply_reference(Settings& settings, const policy::HostEnv& host);

// "true", "1", "yes", "on" and their opposites, in any case.
Result<bool> parse_bool(std::string_view text);
const std::string* find_variable(const policy::HostEnv& host, std::string_view name);  // null: not there, or empty

}  // namespace cove::terminal
