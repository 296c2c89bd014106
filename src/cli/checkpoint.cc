#include "cli/subcommand.h"
#include "cli/with_sandbox.h"

namespace cove::cli {
namespace {

struct CheckpointOptions {
  std::string what, name;
};

void define(Arguments& arguments, CheckpointOptions& options) {
  arguments.positional("on|off", options.what, Need::required, "Enable or disable checkpoints");
  arguments.positional("NAME", options.name, Need::required, "The sandbox");
}

int run(Arguments& arguments, CheckpointOptions& options) {
  if (options.what != "on" && options.what != "off") return arguments.usage_error("say 'on' or 'off' first");
  return with_sandbox(options.name, [&](Sandbox& sandbox) { return sandbox.checkpoint(options.what == "on"); });
}

}  // namespace

const Command kCheckpoint{
    .name = "checkpoint",
    .usage = "on|off NAME",
    .summary = "Enable or disable checkpoints: make each command that changes files undoable",
    .examples = "  cove checkpoint on t\n  cove history t",
    .run = run_with<CheckpointOptions>,
    .describe = describe_with<CheckpointOptions>,
};

}  // namespace cove::cli
