#include "cli/arguments.h"
#include "cli/print.h"
#include "cli/run_on_terminal.h"

namespace cove::cli {
namespace {

void define(Arguments& arguments, std::string& name) {
  arguments.positional("NAME", name, Need::required, "The sandbox");
}

void describe(Arguments& arguments) {
  static std::string name;
  define(arguments, name);
}

int main(Arguments& arguments, std::vector<std::string> words) {
  std::string name;
  define(arguments, name);
  if (auto code = arguments.parse(std::move(words))) return *code;
  auto sandbox = Sandbox::open(name);
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
    .summary = "An interactive terminal in a sandbox",
    .examples = "  cove shell t",
    .run = main,
    .describe = describe,
};

}  // namespace cove::cli
