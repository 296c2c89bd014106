#include "cli/arguments.h"
#include "cli/print.h"
#include "cli/text.h"
#include "client/cove.h"

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
  auto sandbox = Sandbox::open(options.name);
  if (!sandbox) return report(sandbox.error());
  if (const auto done = sandbox->restore(options.tag); !done) return report(done.error());
  return 0;
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
