#include <unistd.h>

#include "cli/msb/options.h"
#include "cli/run_on_terminal.h"
#include "cli/signals.h"
#include "cli/subcommand.h"
#include "cli/terminal.h"

namespace cove::cli::msb {

int run_piped(Sandbox& sandbox, CommandSpec command) {
  command.split = !same_output();
  command.end_with_client = true;
  Control control;
  const InterruptOnSignal interrupt(control);
  LiveOutput output(&control);
  CommandIo io;
  io.control = &control;
  io.stdin_fd = STDIN_FILENO;
  io.output = [&](Stream stream, std::string_view bytes) { output.write(stream, bytes); };
  const auto outcome = sandbox.run(command, io);
  if (!outcome) return failed(outcome.error());
  return finish_as_msb(*outcome, command.timeout, output);
}

namespace {

struct ExecOptions {
  Common common;
  std::string name;
  CommandSpec command;
  std::vector<std::string> env;
  bool terminal = false, no_terminal = false, stream = false;
};

void define(Arguments& arguments, ExecOptions& options) {
  define(arguments, options.common);
  arguments.texts("-e,--env", options.env, "K=V", "Set a variable for this command; K alone copies the host's value");
  arguments.text("-w,--workdir", options.command.cwd, "DIR", "Set the working directory");
  arguments.text("-u,--user", options.command.user, "USER", "Run as this user");
  arguments.duration("--timeout", options.command.timeout, "Limit (30s, 5m, 1h)");
  arguments.flag("-t,--tty", options.terminal, "Allocate a terminal");
  arguments.flag("--no-tty", options.no_terminal, "Allocate no terminal, even if stdin is one");
  arguments.flag("--stream", options.stream, "Stream raw bytes; default without a terminal");
  arguments.positional("NAME", options.name, Need::required, "The sandbox");
  arguments.rest("COMMAND", options.command.argv, Need::optional);
}

int run(Sandbox& sandbox, const ExecOptions& options) {
  const bool terminal = options.terminal || (stdin_is_terminal() && !options.no_terminal && !options.stream);
  if (terminal) return run_on_terminal(sandbox, options.command, Input::ours);
  return run_piped(sandbox, options.command);
}

int run(Arguments& arguments, ExecOptions& options) {
  if (options.stream && options.terminal) return arguments.usage_error("--stream and --tty cannot be used together");
  auto env = with_values(options.env);
  if (!env) return failed(env.error());
  options.command.env = std::move(*env);
  if (options.command.argv.empty()) options.command.argv = {"/bin/sh"};
  auto opened = open_or_start(options.name);
  if (!opened) return failed(opened.error());
  const int code = run(opened->sandbox, options);
  // What was stopped is so again, as msb leaves it.
  if (const auto stopped = opened->started ? opened->sandbox.stop({.remove = false}) : Result<void>{}; !stopped)
    return failed(stopped.error());
  return code;
}

}  // namespace

const Command kExec{
    .name = "exec",
    .usage = "[OPTIONS] NAME [-- COMMAND...]",
    .summary = "Run a command in a sandbox; start the sandbox first if it is stopped",
    .examples = "  msb exec t -- ls -la /\n  echo 1+1 | msb exec t -- bc\n  msb exec --env TOKEN t -- ./deploy",
    .run = run_with<ExecOptions>,
    .describe = describe_with<ExecOptions>,
    .program = "msb",
};

}  // namespace cove::cli::msb
