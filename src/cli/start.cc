#include "cli/print.h"
#include "cli/subcommand.h"
#include "client/cove.h"

namespace cove::cli {
namespace {

struct StartOptions {
  std::vector<std::string> names;
};

void define(Arguments& arguments, StartOptions& options) {
  arguments.positionals("NAME", options.names, "Persistent sandboxes that were stopped");
}

int run(Arguments&, StartOptions& options) {
  int code = 0;
  for (const std::string& name : options.names) {
    const auto sandbox = Sandbox::restart(name);
    if (!sandbox) {
      code = report(sandbox.error());
      continue;
    }
    if (!sandbox->notes().empty()) complain("sandbox " + name + ": " + sandbox->notes());
    print(sandbox->name() + "\n");
  }
  return code;
}

}  // namespace

const Command kStart{
    .name = "start",
    .usage = "NAME...",
    .summary = "Start persistent sandboxes again, with their files and sessions",
    .examples = "  cove start work",
    .run = run_with<StartOptions>,
    .describe = describe_with<StartOptions>,
};

}  // namespace cove::cli
