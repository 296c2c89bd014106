#include <cstdlib>

#include "cli/live.h"
#include "cli/print.h"
#include "cli/subcommand.h"

namespace cove::cli {
namespace {

struct AttachOptions {
  std::string name;
  proto::Attach what;
};

void define(Arguments& arguments, AttachOptions& options) {
  options.what.follow = true;
  arguments.positional("NAME", options.name, Need::required, "The sandbox");
  arguments.positional("ID", options.what.id, Need::required, "The command");
}

int run(Arguments&, AttachOptions& options) {
  auto sandbox = Sandbox::open(options.name);
  if (!sandbox) return report(sandbox.error());
  // Ctrl-C leaves; the command, which others may have started, goes on.
  CommandIo io;
  LiveOutput output(nullptr);
  io.output = [&](Stream stream, std::string_view bytes) {
    output.write(stream, bytes);
    if (output.broken()) std::exit(141);
  };
  const auto outcome = sandbox->attach(options.what, io);
  if (!outcome) return report(outcome.error());
  return finish(*outcome, std::chrono::milliseconds(0), output);
}

}  // namespace

const Command kAttach{
    .name = "attach",
    .usage = "NAME ID",
    .summary = "Follow a command to its end; exits with its code",
    .examples = "  cove attach t build-7   # Ctrl-C leaves it running",
    .run = run_with<AttachOptions>,
    .describe = describe_with<AttachOptions>,
};

}  // namespace cove::cli
