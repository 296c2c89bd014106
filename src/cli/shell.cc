#include "cli/print.h"
#include "cli/run_on_terminal.h"
#include "cli/subcommand.h"

namespace cove::cli {
namespace {

struct ShellOptions {
  std::string name;
};

void define(Arguments& arguments, ShellOptions& options) {
  arguments.positional("NAME", options.name, Need::required, "The sandbox");
}

int run(Arguments&, ShellOptions& options) {
  auto sandbox = Sandbox::open(options.name);
  if (!sandbox) return report(sandbox.error());
  CommandSpec command;
  // sh is everywhere; where there is bash it is the better terminal.
  command.argv = {"/bin/sh", "-c", "command -v bash >/dev/null 2>&1 && exec bash -i; exec sh -i"};
  return run_on_terminal(*sandbox, std::move(command), Input::ours);
}

}  // namespace

const Command kShell{
    .name = "shell",
    .usage = "NAME",
    .summary = "Open an interactive terminal in a sandbox",
    .examples = "  cove shell t",
    .run = run_with<ShellOptions>,
    .describe = describe_with<ShellOptions>,
};

}  // namespace cove::cli
