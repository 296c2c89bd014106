#include "cli/spec_options.h"

#include <unistd.h>

#include "backend/table.h"
#include "backend/traits.h"
#include "cli/print.h"
#include "client/complete.h"
#include "spec/settings.h"

namespace cove::cli {
namespace {

std::string current_directory() {
  char path[4096];
  return getcwd(path, sizeof(path)) != nullptr ? path : "/";
}

std::string absolute(const std::string& path) {
  if (path.starts_with('/') || path.starts_with('~')) return path;
  return current_directory() + "/" + path;
}

// `auto` is settled here, because what a sandbox may see of the environment depends on the backend.
Result<void> settle_backend(SandboxSpec& spec) {
  if (spec.backend != kAuto.name) return {};
  COVE_TRY(const Choice choice, choose_backend(spec.require, Deadline::after(std::chrono::seconds(10))));
  for (const std::string& why : choice.rejected) complain("auto: not " + why);
  spec.backend = choice.backend->name();
  return {};
}

}  // namespace

void define(Arguments& arguments, SpecOptions& options) {
  for (const spec::Setting& setting : spec::settings()) {
    const std::string key(setting.key), help(setting.help);
    if (setting.is_switch) {
      arguments.flag(option_name(setting), options.switches[key], help);
      continue;
    }
    arguments.value(option_name(setting), std::string(setting.metavar), help,
                    [&options, &setting, key](const std::string& value) -> Result<void> {
                      SandboxSpec probe;
                      COVE_CHECK(setting.set(probe, value));
                      options.settings[key] = value;
                      return {};
                    });
  }
  arguments.texts("-e,--env", options.env, "K=V", "Set a variable inside");
  arguments.texts("--forward-env", options.forward_env, "K", "Forward a variable of this environment by its name");
  arguments.texts("--volume", options.volumes, "HOST:INSIDE[:ro|:cow]",
                  "Mount a host directory; cow: as a private copy, see 'cove apply'; a microvm gets a copy, "
                  "copied back by 'cove sync' and when it ends");
  arguments.texts("--require", options.require, "WALL",
                  "Require isolation from 'auto': fs-read, fs-write, net, pid, memory");
  arguments.text("--pull", options.pull, "WHEN", "Pull the image: missing (default), always, never");
  arguments.text("--from", options.from, "TAG", "Start from a snapshot: its files and sessions");
  arguments.flag("--checkpoint", options.checkpoint, "Make each command that changes files undoable: 'cove undo'");
  arguments.flag("--prove", options.prove, "Test the isolation before use; 'cove inspect' shows the report");
  arguments.text("-w,--cwd", options.cwd, "DIR", "Set the initial directory of sessions");
  arguments.flag("--persistent", options.persistent, "Keep files and sessions over stop, start and a reboot");
  arguments.flag("--sys", options.sys, "Provide a read-only /sys inside");
  arguments.flag("--no-login", options.no_login, "Do not read the login start-up files");
}

Result<SandboxSpec> make_spec(const SpecOptions& options) {
  SandboxSpec spec;
  COVE_CHECK(spec::read_configuration(spec));
  Completion how{.env = options.env, .forward = options.forward_env, .pull_output = PullOutput::shown};
  auto given = options.settings;
  for (const auto& [key, on] : options.switches) {
    if (on) given[key] = "true";
  }
  for (const spec::Setting& setting : spec::settings()) {
    const auto found = given.find(std::string(setting.key));
    if (found == given.end()) continue;
    COVE_CHECK(setting.set(spec, found->second));
    how.given.push_back(found->first);
  }
  spec.require = options.require;
  if (options.from.empty()) COVE_CHECK(settle_backend(spec));
  spec.volumes = options.volumes;
  spec.persistent = options.persistent;
  spec.sys = options.sys;
  spec.login = !options.no_login;
  spec.from = options.from;
  spec.checkpoint = options.checkpoint;
  if (!options.cwd.empty()) spec.cwd = absolute(options.cwd);
  spec.pull = options.pull;
  return complete(std::move(spec), how);
}

}  // namespace cove::cli
