#pragma once

// What can be set about new sandboxes: one table for the options, the environment and the configuration file.
// `idle_timeout` is --idle-timeout, COVE_IDLE_TIMEOUT and the key `idle_timeout`; the first one that is given counts.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "spec/spec.h"

namespace cove::spec {

struct Setting {
  std::string_view key, metavar, help;
  std::function<Result<void>(SandboxSpec& spec, const std::string& value)> set;
  bool is_switch = false;   // takes no value on the command line: "true" is set
  bool of_backend = false;  // only some backends have it (BackendOption)
};

// Those of every sandbox, then those of backends.
const std::vector<Setting>& settings();
std::string option_name(const Setting& setting);       // "--idle-timeout"
std::string environment_name(const Setting& setting);  // "COVE_IDLE_TIMEOUT"
std::string known_keys();

// Settles the options of backends once the backend is known. One that it does not have is refused if it is among
// `given`, the keys that were asked for, and dropped if it is only a default of the configuration.
Result<void> settle_options(SandboxSpec& spec, const std::vector<std::string>& given);

// Fills `spec` from the configuration file and then from the environment. Errors name file and line, or the variable.
Result<void> read_configuration(SandboxSpec& spec);

// $XDG_CONFIG_HOME/cove/config.toml, else below ~/.config; a file that is not there says nothing.
std::string configuration_path();
Result<void> read_configuration_file(const std::string& path, SandboxSpec& spec);

}  // namespace cove::spec
