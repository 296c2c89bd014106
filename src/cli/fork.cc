#include "base/text.h"
#include "cli/print.h"
#include "cli/subcommand.h"
#include "client/cove.h"

namespace cove::cli {
namespace {

struct ForkOptions {
  std::string name, count;
  bool memory = false, json = false;
};

void define(Arguments& arguments, ForkOptions& options) {
  arguments.text("-n", options.count, "N", "Create N copies; default 1");
  arguments.flag("--memory", options.memory, "Include running programs; they continue in each copy");
  arguments.flag("--json", options.json, "Print a JSON array of names");
  arguments.positional("NAME", options.name, Need::required, "The sandbox to copy");
}

int run(Arguments& arguments, ForkOptions& options) {
  const auto count = parse_count(options.count.empty() ? "1" : options.count);
  if (!count || *count > 10'000) return arguments.usage_error("-n is a whole number above zero");
  auto sandbox = Sandbox::open(options.name);
  if (!sandbox) return report(sandbox.error());
  const auto forks = sandbox->fork(*count, {}, options.memory ? Saved::memory : Saved::files);
  if (!forks) return report(forks.error());
  std::string names;
  for (const Sandbox& fork : *forks) {
    if (options.json)
      names += (names.empty() ? "" : ", ") + json_quote(fork.name());
    else
      print(fork.name() + "\n");
  }
  if (options.json) print("[" + names + "]\n");
  return 0;
}

}  // namespace

const Command kFork{
    .name = "fork",
    .usage = "NAME [-n N] [--memory]",
    .summary = "Create independent copies of a sandbox, with its files and sessions",
    .examples = "  cove fork t\n  for f in $(cove fork t -n 4); do cove sh $f './try'; done",
    .run = run_with<ForkOptions>,
    .describe = describe_with<ForkOptions>,
};

}  // namespace cove::cli
