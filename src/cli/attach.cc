#include <cstdlib>

#include "cli/arguments.h"
#include "cli/live.h"
#include "cli/print.h"

namespace cove::cli {
namespace {

struct Options {
  std::string name;
  proto::Attach what;
};

void define(Arguments& arguments, Options& options) {
  options.what.follow = true;
  arguments.positional("NAME", options.name, Need::required, "The sandbox");
  arguments.positional("ID", options.what.id, Need::required, "The command");
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
    .run = main,
    .describe = describe,
};

}  // namespace cove::cli
