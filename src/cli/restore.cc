#include "cli/subcommand.h"
#include "cli/with_sandbox.h"

namespace cove::cli {
namespace {

struct RestoreOptions {
  std::string name, tag;
};

void define(Arguments& arguments, RestoreOptions& options) {
  arguments.positional("NAME", options.name, Need::required, "The sandbox");
  arguments.positional("TAG", options.tag, Need::required, "The snapshot: see 'cove snapshots'");
}

int run(Arguments&, RestoreOptions& options) {
  return with_sandbox(options.name, [&](Sandbox& sandbox) { return sandbox.restore(options.tag); });
}

}  // namespace

const Command kRestore{
    .name = "restore",
    .usage = "NAME TAG",
    .summary = "Restore a sandbox's files and sessions from a snapshot",
    .examples = "  cove restore t before",
    .run = run_with<RestoreOptions>,
    .describe = describe_with<RestoreOptions>,
};

}  // namespace cove::cli
