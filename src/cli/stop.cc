#include "cli/print.h"
#include "cli/subcommand.h"
#include "client/cove.h"
#include "record/record.h"

namespace cove::cli {
namespace {

struct StopOptions {
  std::vector<std::string> names;
  std::chrono::milliseconds grace{2000};
};

void define(Arguments& arguments, StopOptions& options) {
  arguments.duration("--grace", options.grace, "Wait this long before killing commands (2s)");
  arguments.positionals("NAME", options.names, "The sandboxes");
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

int run(Arguments&, StopOptions& options) {
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
    .summary = "Stop sandboxes; persistent ones can be started again",
    .examples = "  cove stop t\n  cove stop $(cove ls --names)",
    .run = run_with<StopOptions>,
    .describe = describe_with<StopOptions>,
};

}  // namespace cove::cli
