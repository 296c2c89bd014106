#include "cli/arguments.h"
#include "cli/print.h"
#include "client/cove.h"

namespace cove::cli {
namespace {

void define(Arguments& arguments, std::vector<std::string>& names) {
  arguments.positionals("NAME", names, "Persistent sandboxes that were stopped");
}

void describe(Arguments& arguments) {
  static std::vector<std::string> names;
  define(arguments, names);
}

int main(Arguments& arguments, std::vector<std::string> words) {
  std::vector<std::string> names;
  define(arguments, names);
  if (auto code = arguments.parse(std::move(words))) return *code;
  int code = 0;
  for (const std::string& name : names) {
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
    .run = main,
    .describe = describe,
};

}  // namespace cove::cli
