#include "cli/live.h"
#include "cli/msb/options.h"
#include "cli/print.h"
#include "cli/run_on_terminal.h"
#include "cli/signals.h"
#include "cli/subcommand.h"
#include "cli/terminal.h"

namespace cove::cli::msb {
namespace {

struct CreateOptions : SandboxOptions {};

// Kept over stop and start, as msb's are.
int run(Arguments&, CreateOptions& options) {
  auto spec = make_spec(options);
  if (!spec) return failed(spec.error());
  spec->persistent = true;
  const auto sandbox = create(options, *spec);
  if (!sandbox) return failed(sandbox.error());
  if (!options.common.quiet) print(sandbox->name() + "\n");
  return 0;
}

struct RunOptions {
  SandboxOptions sandbox;
  CommandSpec command;
  bool detach = false, terminal = false, no_terminal = false;
};

void define(Arguments& arguments, RunOptions& options) {
  define(arguments, options.sandbox);
  arguments.flag("-d,--detach", options.detach, "Run in the background; print the sandbox's name");
  arguments.flag("-t,--tty", options.terminal, "Allocate a terminal");
  arguments.flag("--no-tty", options.no_terminal, "Allocate no terminal, even if stdin is one");
  arguments.duration("--timeout", options.command.timeout, "Limit the time of the command (30s, 5m, 1h)");
  arguments.rest("COMMAND", options.command.argv, Need::optional);
}

int run_here(Sandbox& sandbox, RunOptions& options) {
  const bool terminal = !options.no_terminal && (options.terminal || stdin_is_terminal());
  if (terminal) return run_on_terminal(sandbox, options.command, Input::ours);
  return run_piped(sandbox, options.command);
}

// One with a name is kept, stopped; one without is gone afterwards.
int run(Arguments&, RunOptions& options) {
  auto spec = make_spec(options.sandbox);
  if (!spec) return failed(spec.error());
  if (options.command.argv.empty()) options.command.argv = spec->command;
  if (options.command.argv.empty()) options.command.argv = {"/bin/sh"};
  spec->persistent = !spec->name.empty() || options.detach;
  spec->owned = !spec->persistent;
  auto sandbox = create(options.sandbox, *spec);
  if (!sandbox) return failed(sandbox.error());
  if (options.detach) {
    const auto started = sandbox->start(options.command);
    if (!started) return failed(started.error());
    print(sandbox->name() + "\n");
    return 0;
  }
  const int code = run_here(*sandbox, options);
  if (spec->persistent) (void)sandbox->stop();
  return code;
}

}  // namespace

const Command kCreate{
    .name = "create",
    .usage = "[OPTIONS] IMAGE",
    .summary = "Create a sandbox and start it in the background",
    .examples = "  msb create --name t --memory 512M --no-net alpine\n  msb create --name t --replace ./rootfs",
    .run = run_with<CreateOptions>,
    .describe = describe_with<CreateOptions>,
    .program = "msb",
};

const Command kRun{
    .name = "run",
    .usage = "[OPTIONS] IMAGE [-- COMMAND...]",
    .summary = "Create a sandbox from an image and run a command in it",
    .examples = "  msb run alpine -- echo hi\n  msb run -d --name web ./rootfs -- httpd -f",
    .run = run_with<RunOptions>,
    .describe = describe_with<RunOptions>,
    .program = "msb",
};

}  // namespace cove::cli::msb
