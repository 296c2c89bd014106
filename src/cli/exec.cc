#include <unistd.h>

#include "cli/live.h"
#include "cli/print.h"
#include "cli/run_on_terminal.h"
#include "cli/signals.h"
#include "cli/subcommand.h"
#include "cli/terminal.h"

namespace cove::cli {
namespace {

struct ExecOptions {
  std::string name;
  CommandSpec command;
  bool interactive = false, terminal = false;
};

void define(Arguments& arguments, ExecOptions& options) {
  arguments.flag("-i,--interactive", options.interactive, "Forward stdin");
  arguments.flag("-t,--tty", options.terminal, "Allocate a terminal");
  arguments.texts("-e,--env", options.command.env, "K=V", "Set a variable for this program");
  arguments.text("-w,--cwd", options.command.cwd, "DIR", "Set the working directory");
  arguments.text("-u,--user", options.command.user, "USER", "Run as this user of the sandbox");
  arguments.duration("--timeout", options.command.timeout, "Limit (30, 30s, 5m, 500ms)");
  arguments.positional("NAME", options.name, Need::required, "The sandbox");
  arguments.rest("PROG", options.command.argv, Need::required);
}

}  // namespace

// Shared with `shell`: a program with our terminal as its own.
int run_on_terminal(Sandbox& sandbox, CommandSpec command, Input input) {
  use_terminal(command);
  command.end_with_client = true;
  Control control;
  LiveOutput output(&control);
  CommandIo io;
  io.control = &control;
  io.stdin_fd = input == Input::ours ? STDIN_FILENO : -1;
  io.output = [&](Stream stream, std::string_view bytes) { output.write(stream, bytes); };
  std::optional<Result<Outcome>> outcome;
  {
    const RawTerminal raw(control);
    outcome.emplace(sandbox.run(command, io));
  }
  if (!*outcome) return report(outcome->error());
  return finish(**outcome, command.timeout, output);
}

namespace {

int run_piped(Sandbox& sandbox, ExecOptions& options) {
  options.command.split = !same_output();
  options.command.end_with_client = true;
  Control control;
  const InterruptOnSignal interrupt(control);
  LiveOutput output(&control);
  CommandIo io;
  io.control = &control;
  io.stdin_fd = options.interactive ? STDIN_FILENO : -1;
  io.output = [&](Stream stream, std::string_view bytes) { output.write(stream, bytes); };
  const auto outcome = sandbox.run(options.command, io);
  if (!outcome) return report(outcome.error());
  return finish(*outcome, options.command.timeout, output);
}

int run(Arguments& arguments, ExecOptions& options) {
  for (const std::string& entry : options.command.env) {
    if (entry.find('=') == std::string::npos) return arguments.usage_error("--env: '" + entry + "' is not K=V");
  }
  auto sandbox = Sandbox::open(options.name);
  if (!sandbox) return report(sandbox.error());
  if (options.terminal)
    return run_on_terminal(*sandbox, options.command, options.interactive ? Input::ours : Input::none);
  return run_piped(*sandbox, options);
}

}  // namespace

const Command kExec{
    .name = "exec",
    .usage = "NAME [OPTIONS] [--] PROG ARGS...",
    .summary = "Run a program in a sandbox, without a session",
    .examples =
        "  cove exec t -- ls -la /\n"
        "  cove exec t -it -- python3\n"
        "  echo 1+1 | cove exec t -i -- bc",
    .run = run_with<ExecOptions>,
    .describe = describe_with<ExecOptions>,
};

}  // namespace cove::cli
