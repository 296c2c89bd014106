#include "base/text.h"
#include "cli/live.h"
#include "cli/print.h"
#include "cli/rows.h"
#include "cli/subcommand.h"

namespace cove::cli {
namespace {

struct PsOptions {
  std::string name;
  bool json = false, all = false;
};

void define(Arguments& arguments, PsOptions& options) {
  arguments.flag("--json", options.json, "Print a JSON array");
  arguments.flag("-a,--all", options.all, "Include commands that have ended");
  arguments.positional("NAME", options.name, Need::required, "The sandbox");
}

// Of a sandbox that does not run the journal is what is left; its commands are all over.
Result<std::vector<Outcome>> commands_of(const std::string& name) {
  if (auto sandbox = Sandbox::open(name)) return sandbox->commands();
  COVE_TRY(const auto opened, record::Record::open(name));
  return opened.journal();
}

void show_table(const std::vector<Outcome>& commands) {
  std::vector<Row> rows{{tinted(Tint::bold, "ID"), tinted(Tint::bold, "OUTCOME"), tinted(Tint::bold, "EXIT"),
                         tinted(Tint::bold, "TIME"), tinted(Tint::bold, "OUTPUT")}};
  for (const Outcome& command : commands) {
    const bool running = command.ending == Ending::running;
    const auto time = std::chrono::milliseconds(command.duration_us / 1000);
    rows.push_back({command.id, tinted(running ? Tint::green : Tint::bold, ending_name(command.ending)),
                    running ? "-" : std::to_string(exit_code_of(command)), seconds_text(time),
                    size_text(command.output_bytes)});
  }
  print_table(rows);
}

int run(Arguments&, PsOptions& options) {
  auto commands = commands_of(options.name);
  if (!commands) return report(commands.error());
  if (!options.all) std::erase_if(*commands, [](const Outcome& each) { return each.ending != Ending::running; });
  if (!options.json) {
    show_table(*commands);
    return 0;
  }
  std::vector<std::string> elements;
  for (const Outcome& command : *commands) elements.push_back(to_json(command));
  print(json_array(elements));
  return 0;
}

}  // namespace

const Command kPs{
    .name = "ps",
    .usage = "NAME [--all] [--json]",
    .summary = "List the commands of a sandbox",
    .examples = "  cove ps t\n  cove ps t --all --json",
    .run = run_with<PsOptions>,
    .describe = describe_with<PsOptions>,
};

}  // namespace cove::cli
