#include "cli/arguments.h"
#include "cli/print.h"
#include "client/cove.h"

namespace cove::cli {
namespace {

struct Options {
  std::string name;
};

void define(Arguments& arguments, Options& options) {
  arguments.positional("NAME", options.name, Need::required, "The sandbox");
}

void describe(Arguments& arguments) {
  static Options options;
  define(arguments, options);
}

int sync(Arguments& arguments, std::vector<std::string> words) {
  Options options;
  define(arguments, options);
  if (auto code = arguments.parse(std::move(words))) return *code;
  auto sandbox = Sandbox::open(options.name);
  if (!sandbox) return report(sandbox.error());
  const auto left = sandbox->sync();
  if (!left) return report(left.error());
  for (const std::string& why : *left) complain("not brought: " + why);
  return left->empty() ? 0 : 1;
}

}  // namespace

const Command kSync{
    .name = "sync",
    .usage = "NAME",
    .summary = "Bring what a microvm changed in its volumes to the host; elsewhere they are the host's own",
    .examples = "  cove sync t",
    .run = sync,
    .describe = describe,
};

}  // namespace cove::cli
