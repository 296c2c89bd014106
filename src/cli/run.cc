#include "base/text.h"
#include "cli/live.h"
#include "cli/print.h"
#include "cli/prove.h"
#include "cli/signals.h"
#include "cli/spec_options.h"
#include "cli/stdin_option.h"
#include "cli/subcommand.h"

namespace cove::cli {
namespace {

struct RunOptions {
  SpecOptions spec;
  std::string stdin_from;
  std::vector<std::string> words;
  bool json = false;
};

void define(Arguments& arguments, RunOptions& options) {
  arguments.flag("--json", options.json, "Print one JSON object instead of the output");
  define_stdin(arguments, options.stdin_from);
  define(arguments, options.spec);
  arguments.rest("COMMAND", options.words, Need::optional);
}

// One stream where it makes no difference: then everything comes in its true order.
bool wants_split(const RunOptions& options) { return !options.json && !same_output(); }

int run_in(Sandbox& sandbox, const RunOptions& options, const SandboxSpec& spec, Control& control) {
  auto input = open_stdin(options.stdin_from);
  if (!input) return report(input.error());
  CommandSpec command;
  command.script = join_words(options.words);
  if (options.words.empty()) command.argv = spec.command;
  command.split = spec.split;
  command.end_with_client = true;
  LiveOutput output(&control);
  JsonResult result;
  result.timeout = std::chrono::milliseconds(spec.timeout_ms);
  CommandIo io;
  io.control = &control;
  io.stdin_fd = input->get();
  io.output = [&](Stream stream, std::string_view bytes) {
    if (options.json)
      result.output.add(bytes);
    else
      output.write(stream, bytes);
  };
  auto outcome = sandbox.run(command, io);
  if (!outcome) return report(outcome.error());
  if (!options.json) return finish(*outcome, result.timeout, output);
  result.outcome = std::move(*outcome);
  print(to_json(result));
  return exit_code_of(result.outcome);
}

int run(Arguments& arguments, RunOptions& options) {
  if (options.spec.persistent) return arguments.usage_error("--persistent: a sandbox for one command is not kept");
  auto spec = make_spec(options.spec);
  if (!spec) return report(spec.error());
  if (options.words.empty() && spec->command.empty())
    return arguments.usage_error("COMMAND is required: the image does not say what to run");
  spec->owned = true;
  spec->split = wants_split(options);
  Control control;
  const InterruptOnSignal interrupt(control);
  auto sandbox = Sandbox::create(*spec);
  if (!sandbox) return report(sandbox.error());
  if (options.spec.prove) {
    if (const auto proven = prove(*sandbox, spec->backend); !proven) return report(proven.error());
  }
  return run_in(*sandbox, options, *spec, control);
}

}  // namespace

const Command kRun{
    .name = "run",
    .usage = "[OPTIONS] [--] [COMMAND]",
    .summary = "Run one command in a temporary sandbox",
    .examples =
        "  cove run -- 'echo hi; exit 3'\n"
        "  cove run --timeout 30s make test\n"
        "  cove run --image python:3.12 -- python -V\n"
        "  cove run --image hello-world\n"
        "  tar c . | cove run --stdin - 'tar t | wc -l'",
    .run = run_with<RunOptions>,
    .describe = describe_with<RunOptions>,
};

}  // namespace cove::cli
