#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "cli/overlays.h"
#include "cli/print.h"
#include "cli/subcommand.h"
#include "client/cove.h"

namespace cove::cli {
namespace {

using Json = nlohmann::json;

struct HistoryOptions {
  std::string name;
  bool json = false;
};

void define(Arguments& arguments, HistoryOptions& options) {
  arguments.flag("--json", options.json, "Print a JSON array");
  arguments.positional("NAME", options.name, Need::required, "The sandbox");
}

// How many files the command's layer changed.
Result<std::size_t> count_changes(const record::Info& info, const Json& done) {
  if (done.value("layer", "").empty()) return std::size_t{0};
  const std::size_t before = done.value("layers_before", std::size_t{0});
  COVE_TRY(const auto overlays, overlays_of(info, before, before + 1));
  COVE_TRY(const auto found, find_changes(overlays, "", {}));
  std::size_t count = 0;
  for (const Found& one : found) {
    for (const auto& change : one.changes) count += change.kind != changes::Kind::directory ? 1 : 0;
  }
  return count;
}

Result<Json> complete(const std::string& name) {
  COVE_TRY(const auto opened, record::Record::open(name));
  COVE_TRY(Sandbox sandbox, Sandbox::open(name));
  COVE_TRY(const std::string text, sandbox.history());
  COVE_TRY(const auto info, opened.info());
  Json commands = Json::parse(text, nullptr, false).value("commands", Json::array());
  for (Json& done : commands) {
    COVE_TRY(const std::size_t count, count_changes(info, done));
    done["changed_files"] = count;
  }
  return commands;
}

std::string one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 32 || c == 127) c = ' ';
  }
  return text.size() > 60 ? text.substr(0, 57) + "..." : text;
}

void show(const Json& commands) {
  std::vector<Row> rows{{tinted(Tint::bold, "ID"), tinted(Tint::bold, "OUTCOME"), tinted(Tint::bold, "TIME"),
                         tinted(Tint::bold, "FILES"), tinted(Tint::bold, "COMMAND")}};
  for (const Json& done : commands) {
    const std::string outcome = done.value("outcome", "");
    rows.push_back({done.value("id", ""),
                    outcome == "exited" ? "exit " + std::to_string(done.value("exit_code", 0)) : outcome,
                    std::to_string(done.value("duration_ms", 0)) + " ms",
                    std::to_string(done.value("changed_files", 0)), one_line(done.value("command", ""))});
  }
  print_table(rows);
}

int run(Arguments&, HistoryOptions& options) {
  const auto commands = complete(options.name);
  if (!commands) return report(commands.error());
  if (options.json)
    print(json_text(*commands, 2) + "\n");
  else
    show(*commands);
  return 0;
}

}  // namespace

const Command kHistory{
    .name = "history",
    .usage = "NAME [--json]",
    .summary = "List commands that can be undone, and how many files each changed",
    .examples = "  cove history t\n  cove diff t --command 3\n  cove undo t 2",
    .run = run_with<HistoryOptions>,
    .describe = describe_with<HistoryOptions>,
};

}  // namespace cove::cli
