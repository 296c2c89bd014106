#include "cli/print.h"
#include "cli/subcommand.h"
#include "client/cove.h"

namespace cove::cli {
namespace {

struct RmOptions {
  std::vector<std::string> names;
  bool force = false;
};

void define(Arguments& arguments, RmOptions& options) {
  arguments.flag("-f,--force", options.force, "Ignore sandboxes that do not exist");
  arguments.positionals("NAME", options.names, "The sandboxes");
}

int run(Arguments&, RmOptions& options) {
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
    .summary = "Stop and remove sandboxes",
    .examples = "  cove rm t\n  cove rm --force t u",
    .run = run_with<RmOptions>,
    .describe = describe_with<RmOptions>,
};

}  // namespace cove::cli
