#include "cli/arguments.h"
#include "cli/with_sandbox.h"

namespace cove::cli {
namespace {

struct Options {
  std::string what, name;
};

void define(Arguments& arguments, Options& options) {
  arguments.positional("on|off", options.what, Need::required, "Whether to keep them from now on");
  arguments.positional("NAME", options.name, Need::required, "The sandbox");
}

void describe(Arguments& arguments) {
  static Options options;
  define(arguments, options);
}

int main(Arguments& arguments, std::vector<std::string> words) {
  Options options;
  define(arguments, options);
  if (auto code = arguments.parse(std::move(words))) return *code;
  if (options.what != "on" && options.what != "off") return arguments.usage_error("say 'on' or 'off' first");
  return with_sandbox(options.name, [&](Sandbox& sandbox) { return sandbox.checkpoint(options.what == "on"); });
}

}  // namespace

const Command kCheckpoint{
    .name = "checkpoint",
    .usage = "on|off NAME",
    .summary = "Give each command that changes files a layer of its own, or stop",
    .examples = "  cove checkpoint on t\n  cove history t",
    .run = main,
    .describe = describe,
};

}  // namespace cove::cli
