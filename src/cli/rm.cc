#include "cli/arguments.h"
#include "cli/print.h"
#include "client/cove.h"

namespace cove::cli {
namespace {

struct Options {
  std::vector<std::string> names;
  bool force = false;
};

void define(Arguments& arguments, Options& options) {
  arguments.flag("-f,--force", options.force, "What is not there is no error");
  arguments.positionals("NAME", options.names, "The sandboxes");
}

void describe(Arguments& arguments) {
  static Options options;
  define(arguments, options);
}

int main(Arguments& arguments, std::vector<std::string> words) {
  Options options;
  define(arguments, options);
  if (auto code = arguments.parse(std::move(words))) return *code;
  int code = 0;
  for (const std::string& name : options.names) {
    const auto done = Sandbox::remove(name);
    if (done || (options.force && done.error().code == Errc::not_found)) continue;
    code = report(done.error());
  }
  return code;
}

}  // namespace

const Command kRm{
    .name = "rm",
    .usage = "NAME... [--force]",
    .summary = "End sandboxes and forget everything about them",
    .examples = "  cove rm t\n  cove rm --force t u",
    .run = main,
    .describe = describe,
};

}  // namespace cove::cli
