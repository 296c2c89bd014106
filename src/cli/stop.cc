#include "cli/arguments.h"
#include "cli/print.h"
#include "client/cove.h"
#include "record/record.h"

namespace cove::cli {
namespace {

struct Options {
  std::vector<std::string> names;
  std::chrono::milliseconds grace{2000};
};

void define(Arguments& arguments, Options& options) {
  arguments.duration("--grace", options.grace, "How long commands have to end by themselves (2s)");
  arguments.positionals("NAME", options.names, "The sandboxes");
}

void describe(Arguments& arguments) {
  static Options options;
  define(arguments, options);
}

// Stopping what does not run has been done already.
Result<void> stop(const std::string& name, std::chrono::milliseconds grace) {
  auto sandbox = Sandbox::open(name);
  if (sandbox) return sandbox->stop({.remove = false, .grace_ms = static_cast<std::uint32_t>(grace.count())});
  COVE_TRY(const auto opened, record::Record::open(name));
  COVE_TRY(const auto info, opened.info());
  if (info.life == record::Life::running) return fail(sandbox.error());
  return {};
}

int main(Arguments& arguments, std::vector<std::string> words) {
  Options options;
  define(arguments, options);
  if (auto code = arguments.parse(std::move(words))) return *code;
  int code = 0;
  for (const std::string& name : options.names) {
    if (const auto done = stop(name, options.grace); !done) code = report(done.error());
  }
  return code;
}

}  // namespace

const Command kStop{
    .name = "stop",
    .usage = "NAME...",
    .summary = "End sandboxes; persistent ones can be started again",
    .examples = "  cove stop t\n  cove stop $(cove ls --names)",
    .run = main,
    .describe = describe,
};

}  // namespace cove::cli
