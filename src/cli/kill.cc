#include "base/text.h"
#include "cli/print.h"
#include "cli/subcommand.h"
#include "client/cove.h"

namespace cove::cli {
namespace {

struct KillOptions {
  std::string name, id;
  proto::Signal signal;
};

void define(Arguments& arguments, KillOptions& options) {
  arguments.value("-s,--signal", "S", "Send only this signal (TERM, SIGTERM, 15) to its process group",
                  [&options](const std::string& text) -> Result<void> {
                    COVE_TRY(options.signal.signal, parse_signal(text));
                    return {};
                  });
  arguments.positional("NAME", options.name, Need::required, "The sandbox");
  arguments.positional("ID", options.id, Need::required, "The command");
}

int run(Arguments&, KillOptions& options) {
  auto sandbox = Sandbox::open(options.name);
  if (!sandbox) return report(sandbox.error());
  const auto done = sandbox->signal(options.id, options.signal);
  return done ? 0 : report(done.error());
}

}  // namespace

const Command kKill{
    .name = "kill",
    .usage = "NAME ID [--signal S]",
    .summary = "End a command with everything it started, or signal it",
    .examples = "  cove kill t build-7\n  cove kill t build-7 --signal HUP",
    .run = run_with<KillOptions>,
    .describe = describe_with<KillOptions>,
};

}  // namespace cove::cli
