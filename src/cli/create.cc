#include "cli/print.h"
#include "cli/prove.h"
#include "cli/signals.h"
#include "cli/spec_options.h"
#include "cli/subcommand.h"
#include "client/cove.h"

namespace cove::cli {
namespace {

struct CreateOptions {
  SpecOptions spec;
  std::string name;
};

void define(Arguments& arguments, CreateOptions& options) {
  define(arguments, options.spec);
  arguments.positional("NAME", options.name, Need::optional, "Name of the sandbox; generated if omitted");
}

int run(Arguments&, CreateOptions& options) {
  auto spec = make_spec(options.spec);
  if (!spec) return report(spec.error());
  spec->name = options.name;
  const StopOnSignal stop;  // a keeper that nobody waits for any more withdraws
  const auto failed = [&](const Error& error) { return stop.stopped() ? kInterrupted : report(error); };
  auto sandbox = Sandbox::create(*spec, {.deadline = Deadline::never(), .stop = stop.token()});
  if (!sandbox) return failed(sandbox.error());
  if (options.spec.prove) {
    if (const auto proven = prove(*sandbox, spec->backend, stop.token()); !proven) return failed(proven.error());
  }
  print(sandbox->name() + "\n");
  return 0;
}

}  // namespace

const Command kCreate{
    .name = "create",
    .usage = "[OPTIONS] [NAME]",
    .summary = "Create a sandbox and print its name",
    .examples =
        "  cove create t\n"
        "  cove create --persistent --idle-timeout 2h work\n"
        "  name=$(cove create -e MODE=test)",
    .run = run_with<CreateOptions>,
    .describe = describe_with<CreateOptions>,
};

}  // namespace cove::cli
