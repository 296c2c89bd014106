#include "base/text.h"
#include "cli/earlier.h"
#include "cli/live.h"
#include "cli/print.h"
#include "cli/signals.h"
#include "cli/stdin_option.h"
#include "cli/subcommand.h"

namespace cove::cli {
namespace {

struct ShOptions {
  std::string name, stdin_from;
  CommandSpec command;
  std::vector<std::string> words;
  bool json = false, background = false;
};

void define(Arguments& arguments, ShOptions& options) {
  arguments.flag("--json", options.json, "Print one JSON object instead of the output");
  arguments.duration("--timeout", options.command.timeout, "Limit the time of this command (30, 30s, 5m, 500ms)");
  arguments.text("-w,--cwd", options.command.cwd, "DIR",
                 "Set the directory of this command; the session's directory is kept");
  arguments.text("--session", options.command.session, "S",
                 "Use this session instead of the default one; created on first use");
  define_stdin(arguments, options.stdin_from);
  arguments.text("--id", options.command.id, "ID", "Set the command's id; a repeated id never runs it twice");
  arguments.flag("--background", options.background, "Run in the background and print the id");
  arguments.positional("NAME", options.name, Need::required, "The sandbox");
  arguments.rest("COMMAND", options.words, Need::required);
}

int start(Sandbox& sandbox, const ShOptions& options) {
  const auto id = sandbox.start(options.command);
  if (!id) return report(id.error());
  if (options.json)
    print("{\"id\": " + json_quote(*id) + ", \"outcome\": \"running\"}\n");
  else
    print(*id + "\n");
  return 0;
}

int run_text(Sandbox& sandbox, const ShOptions& options, CommandIo& io) {
  LiveOutput output(io.control);
  io.output = [&](Stream stream, std::string_view bytes) { output.write(stream, bytes); };
  const auto outcome = sandbox.run(options.command, io);
  if (!outcome) return report(outcome.error());
  return finish(*outcome, options.command.timeout, output);
}

// A lost sandbox is an answer too: what was printed until then, and that the rest is not known.
int run_json(Sandbox& sandbox, const ShOptions& options, CommandIo& io) {
  JsonResult result;
  result.timeout = options.command.timeout;
  io.started = [&](const std::string& id) { result.outcome.id = id; };
  io.output = [&](Stream, std::string_view bytes) { result.output.add(bytes); };
  auto outcome = sandbox.run(options.command, io);
  if (outcome) {
    result.outcome = std::move(*outcome);
  } else {
    complain(outcome.error().message);
    if (outcome.error().code != Errc::disconnected || result.outcome.id.empty()) return kOwnError;
    result.outcome.ending = Ending::lost;
    result.outcome.detail = outcome.error().message;
    result.outcome.output_bytes = result.output.bytes.size();
  }
  print(to_json(result));
  return exit_code_of(result.outcome);
}

int run(Arguments& arguments, ShOptions& options) {
  options.command.script = join_words(options.words);
  options.command.end_with_client = !options.background;
  options.command.split = !options.json && !options.background && !same_output();
  if (options.background && !options.stdin_from.empty()) {
    return arguments.usage_error("--background: a command in the background has no stdin");
  }
  const EarlierQuery query{
      .name = options.name, .id = options.command.id, .json = options.json, .background = options.background};
  auto sandbox = Sandbox::open(options.name);
  if (!sandbox) return report_dead(query, sandbox.error());
  if (!query.id.empty()) {
    if (const auto code = report_earlier(*sandbox, query)) return *code;
  }
  if (options.background) return start(*sandbox, options);
  const auto input = open_stdin(options.stdin_from);
  if (!input) return report(input.error());
  Control control;
  const InterruptOnSignal interrupt(control);
  CommandIo io;
  io.control = &control;
  io.stdin_fd = input->get();
  return options.json ? run_json(*sandbox, options, io) : run_text(*sandbox, options, io);
}

}  // namespace

const Command kSh{
    .name = "sh",
    .usage = "NAME [OPTIONS] [--] COMMAND",
    .summary = "Run a shell command in a sandbox's session",
    .examples =
        "  cove sh t 'cd /tmp; X=1; f(){ echo $X; }'\n"
        "  cove sh t 'pwd; f'\n"
        "  cove sh t --timeout 5m --json make test\n"
        "  cove sh t --id build-7 --background make   # 'cove attach t build-7' follows it",
    .run = run_with<ShOptions>,
    .describe = describe_with<ShOptions>,
};

}  // namespace cove::cli
