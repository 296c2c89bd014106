#include "base/text.h"
#include "cli/subcommand.h"
#include "cli/with_sandbox.h"

namespace cove::cli {
namespace {

struct UndoOptions {
  std::string name, number;
  std::uint32_t count = 1;
};

void define(Arguments& arguments, UndoOptions& options) {
  arguments.positional("NAME", options.name, Need::required, "The sandbox");
  arguments.positional("N", options.number, Need::optional, "Undo N commands; default 1");
}

int run(Arguments& arguments, UndoOptions& options) {
  if (!options.number.empty()) {
    const auto count = parse_count(options.number);
    if (!count || *count > 1'000'000) return arguments.usage_error("N is a whole number above zero");
    options.count = static_cast<std::uint32_t>(*count);
  }
  return with_sandbox(options.name, [&](Sandbox& sandbox) { return sandbox.undo(options.count); });
}

}  // namespace

const Command kUndo{
    .name = "undo",
    .usage = "NAME [N]",
    .summary = "Undo the last N commands: restore files and sessions",
    .examples = "  cove create --checkpoint t\n  cove sh t 'rm -rf src'\n  cove undo t",
    .run = run_with<UndoOptions>,
    .describe = describe_with<UndoOptions>,
};

}  // namespace cove::cli
