#include "cli/arguments.h"
#include "cli/print.h"
#include "client/cove.h"

namespace cove::cli {
namespace {

struct Options {
  std::string name;
};

void define(Arguments& arguments, Options& options) {
  arguments.positional("NAME", options.name, Need::required, "The sandbox");
}

void describe(Arguments& arguments) {
  static Options options;
  define(arguments, options);
}

int ask(Arguments& arguments, std::vector<std::string> words, Result<void> (Sandbox::*what)(const Call&)) {
  Options options;
  define(arguments, options);
  if (auto code = arguments.parse(std::move(words))) return *code;
  auto sandbox = Sandbox::open(options.name);
  if (!sandbox) return report(sandbox.error());
  if (const auto done = ((*sandbox).*what)({}); !done) return report(done.error());
  return 0;
}

int pause(Arguments& arguments, std::vector<std::string> words) {
  return ask(arguments, std::move(words), &Sandbox::pause);
}

int resume(Arguments& arguments, std::vector<std::string> words) {
  return ask(arguments, std::move(words), &Sandbox::resume);
}

}  // namespace

const Command kPause{
    .name = "pause",
    .usage = "NAME",
    .summary = "Let nothing in a sandbox run until 'cove resume'; gvisor: its memory goes to disk",
    .examples = "  cove pause t\n  cove resume t",
    .run = pause,
    .describe = describe,
};

const Command kResume{
    .name = "resume",
    .usage = "NAME",
    .summary = "Let a paused sandbox go on where it was",
    .examples = "  cove resume t",
    .run = resume,
    .describe = describe,
};

}  // namespace cove::cli
