#pragma once

// What can be set about new sandboxes: one table for the options, the environment and the configuration file.
// `idle_timeout` is --idle-timeout, COVE_IDLE_TIMEOUT and the key `idle_timeout`; the first one that is given counts.

#include <span>
#include <string>
#include <string_view>

#include "backend/spec.h"
#include "base/error.h"

namespace cove::cli {

struct Setting {
  std::string_view key, metavar, help;
  Result<void> (*set)(SandboxSpec& spec, const std::string& value);
};

std::span<const Setting> settings();
std::string option_name(const Setting& setting);       // "--idle-timeout"
std::string environment_name(const Setting& setting);  // "COVE_IDLE_TIMEOUT"
std::string known_keys();

// Fills `spec` from the configuration file and then from the environment. Errors name file and line, or the variable.
Result<void> read_configuration(SandboxSpec& spec);

// $XDG_CONFIG_HOME/cove/config.toml, else below ~/.config; a file that is not there says nothing.
std::string configuration_path();
Result<void> read_configuration_file(const std::string& path, SandboxSpec& spec);

}  // namespace cove::cli
