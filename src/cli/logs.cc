#include <charconv>
#include <cstdlib>

#include "cli/live.h"
#include "cli/print.h"
#include "cli/subcommand.h"

namespace cove::cli {
namespace {

struct LogsOptions {
  std::string name;
  proto::Attach what;
};

void define(Arguments& arguments, LogsOptions& options) {
  options.what.follow = false;
  arguments.flag("-f,--follow", options.what.follow, "Go on until the command ends");
  arguments.value("--from", "OFFSET", "Begin at this byte", [&options](const std::string& text) -> Result<void> {
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), options.what.from);
    if (error == std::errc() && stop == text.data() + text.size()) return {};
    return fail(Errc::invalid, "'" + text + "' is not an offset in bytes");
  });
  arguments.positional("NAME", options.name, Need::required, "The sandbox");
  arguments.positional("ID", options.what.id, Need::optional, "The command; the last one if it is not given");
}

int run(Arguments&, LogsOptions& options) {
  auto sandbox = Sandbox::open(options.name);
  if (!sandbox) return report(sandbox.error());
  // A reader that leaves, by Ctrl-C or by closing the pipe, must not end the command: the default signals and an exit.
  CommandIo io;
  LiveOutput output(nullptr);
  io.output = [&](Stream stream, std::string_view bytes) {
    output.write(stream, bytes);
    if (output.broken()) std::exit(141);
  };
  const auto outcome = sandbox->attach(options.what, io);
  if (!outcome) return report(outcome.error());
  return 0;
}

}  // namespace

const Command kLogs{
    .name = "logs",
    .usage = "NAME [ID] [--follow] [--from OFFSET]",
    .summary = "The output of a command, byte for byte",
    .examples = "  cove logs t\n  cove logs t build-7 --follow\n  cove logs t build-7 --from 4096",
    .run = run_with<LogsOptions>,
    .describe = describe_with<LogsOptions>,
};

}  // namespace cove::cli
