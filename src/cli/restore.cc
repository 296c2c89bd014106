#include "cli/arguments.h"
#include "cli/with_sandbox.h"

namespace cove::cli {
namespace {

struct Options {
  std::string name, tag;
};

void define(Arguments& arguments, Options& options) {
  arguments.positional("NAME", options.name, Need::required, "The sandbox");
  arguments.positional("TAG", options.tag, Need::required, "The snapshot: see 'cove snapshots'");
}

void describe(Arguments& arguments) {
  static Options options;
  define(arguments, options);
}

int main(Arguments& arguments, std::vector<std::string> words) {
  Options options;
  define(arguments, options);
  if (auto code = arguments.parse(std::move(words))) return *code;
  return with_sandbox(options.name, [&](Sandbox& sandbox) { return sandbox.restore(options.tag); });
}

}  // namespace

const Command kRestore{
    .name = "restore",
    .usage = "NAME TAG",
    .summary = "Take a sandbox's files and sessions back to a snapshot",
    .examples = "  cove restore t before",
    .run = main,
    .describe = describe,
};

}  // namespace cove::cli
