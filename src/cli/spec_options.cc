#include "cli/spec_options.h"

#include <unistd.h>

#include "backend/table.h"
#include "backend/traits.h"
#include "cli/print.h"
#include "cli/settings.h"
#include "client/image.h"
#include "policy/env.h"
#include "record/snapshots.h"

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

// Sessions that run have their variables and their directory.
Result<void> check_memory(const SpecOptions& options) {
  if (options.from.empty() || (options.env.empty() && options.forward_env.empty() && options.cwd.empty())) return {};
  COVE_TRY(const auto snapshot, record::find_snapshot(options.from));
  if (snapshot.memory.empty()) return {};
  return fail(Errc::invalid, "snapshot " + options.from +
                                 " has memory: its sessions go on as they are; leave -e, --forward-env and -w out");
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
  for (const Setting& setting : settings()) {
    arguments.value(option_name(setting), std::string(setting.metavar), std::string(setting.help),
                    [&options, &setting](const std::string& value) -> Result<void> {
                      SandboxSpec probe;
                      COVE_CHECK(setting.set(probe, value));
                      options.settings[std::string(setting.key)] = value;
                      return {};
                    });
  }
  arguments.texts("-e,--env", options.env, "K=V", "Set a variable inside");
  arguments.texts("--forward-env", options.forward_env, "K", "Forward a variable of this environment by its name");
  arguments.texts("--volume", options.volumes, "HOST:INSIDE[:ro|:cow]",
                  "Show a host directory inside; cow: as a private copy, see 'cove apply'; a microvm gets a copy, "
                  "which comes back by 'cove sync' and when it ends");
  arguments.texts("--require", options.require, "WALL", "What 'auto' must find: fs-read, fs-write, net, pid, memory");
  arguments.text("--pull", options.pull, "WHEN", "Whether to fetch the image: missing (usual), always, never");
  arguments.text("--from", options.from, "TAG", "Begin as a snapshot: its files, its sessions");
  arguments.flag("--checkpoint", options.checkpoint, "Each command that changes files can be undone: 'cove undo'");
  arguments.flag("--fresh", options.fresh, "A microvm boots instead of going on from saved memory");
  arguments.flag("--prove", options.prove, "Try its walls before it is used; the report is in 'cove inspect'");
  arguments.text("-w,--cwd", options.cwd, "DIR", "Where sessions start");
  arguments.flag("--persistent", options.persistent, "Keep files and sessions over stop, start and a reboot");
  arguments.flag("--sys", options.sys, "Show a read-only /sys inside");
  arguments.flag("--no-login", options.no_login, "Do not read the login start-up files");
}

Result<SandboxSpec> make_spec(const SpecOptions& options) {
  SandboxSpec spec;
  COVE_CHECK(read_configuration(spec));
  for (const Setting& setting : settings()) {
    const auto given = options.settings.find(std::string(setting.key));
    if (given != options.settings.end()) COVE_CHECK(setting.set(spec, given->second));
  }
  spec.require = options.require;
  if (!options.from.empty() && spec.backend == kAuto.name) {
    COVE_TRY(const auto snapshot, record::find_snapshot(options.from));
    spec.backend = snapshot.backend;
  }
  COVE_CHECK(check_memory(options));
  COVE_CHECK(settle_backend(spec));
  spec.volumes = options.volumes;
  spec.persistent = options.persistent;
  spec.sys = options.sys;
  spec.login = !options.no_login;
  spec.from = options.from;
  spec.checkpoint = options.checkpoint;
  spec.fresh = options.fresh;
  if (!options.cwd.empty()) spec.cwd = absolute(options.cwd);
  if (options.pull != "missing" && options.pull != "always" && options.pull != "never")
    return fail(Errc::invalid, "--pull " + options.pull + ": there are missing, always and never");
  spec.pull = options.pull;
  COVE_TRY(auto image_env, settle_image(spec, PullOutput::shown));
  if (spec.cwd.empty() && options.from.empty() && traits_of(spec.backend).images != Images::engine)
    spec.cwd = traits_of(spec.backend).is_this_machine ? current_directory() : "/workspace";
  COVE_CHECK(policy::fill_env(spec, {.image = std::move(image_env), .set = options.env, .forward = options.forward_env},
                              policy::host_env()));
  return spec;
}

}  // namespace cove::cli
