#include "cli/arguments.h"
#include "cli/print.h"
#include "cli/text.h"
#include "client/cove.h"

namespace cove::cli {
namespace {

struct Options {
  std::string name, id;
  proto::Signal signal;
};

void define(Arguments& arguments, Options& options) {
  arguments.value("-s,--signal", "S", "Send only this signal (TERM, SIGTERM, 15) to its process group",
                  [&options](const std::string& text) -> Result<void> {
                    COVE_TRY(options.signal.signal, parse_signal(text));
                    return {};
                  });
  arguments.positional("NAME", options.name, Need::required, "The sandbox");
  arguments.positional("ID", options.id, Need::required, "The command");
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
  const auto done = sandbox->signal(options.id, options.signal);
  return done ? 0 : report(done.error());
}

}  // namespace

const Command kKill{
    .name = "kill",
    .usage = "NAME ID [--signal S]",
    .summary = "End a command with everything it started, or signal it",
    .examples = "  cove kill t build-7\n  cove kill t build-7 --signal HUP",
    .run = main,
    .describe = describe,
};

}  // namespace cove::cli
