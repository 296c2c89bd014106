#include <sys/ioctl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "cli/overlays.h"
#include "cli/print.h"
#include "cli/subcommand.h"
#include "client/cove.h"
#include "record/snapshots.h"

namespace cove::cli {
namespace {

using Json = nlohmann::json;

struct DiffOptions {
  std::string name, path, from, command;
  std::vector<std::string> only;
  bool json = false, stat = false, names = false;
};

void define(Arguments& arguments, DiffOptions& options) {
  arguments.text("--from", options.from, "TAG", "Compare with this snapshot instead of the initial state");
  arguments.text("--command", options.command, "ID", "Show changes of one command: see 'cove history'");
  arguments.texts("--only", options.only, "GLOB", "Select files by pattern (as in .gitignore)");
  arguments.flag("--stat", options.stat, "Show files and numbers of lines");
  arguments.flag("--names", options.names, "Print one line per file: A added, M changed, D removed");
  arguments.flag("--json", options.json, "Print a JSON array");
  arguments.positional("NAME", options.name, Need::required, "The sandbox");
  arguments.positional("PATH", options.path, Need::optional, "Limit to this path");
}

// A snapshot of the same chain: its layers are the lowest of the sandbox's.
Result<std::size_t> layers_of_snapshot(const record::Info& info, const std::string& tag) {
  COVE_TRY(const auto snapshot, record::find_snapshot(tag));
  const auto& layers = info.spec.layers;
  const bool same = snapshot.layers.size() <= layers.size() && snapshot.image == info.spec.image &&
                    std::equal(snapshot.layers.begin(), snapshot.layers.end(), layers.begin());
  if (same) return snapshot.layers.size();
  return fail(Errc::invalid, "sandbox " + info.name + " does not stand on snapshot " + tag);
}

Result<std::vector<Overlaid>> overlays_of_command(const record::Info& info, const std::string& id) {
  COVE_TRY(Sandbox sandbox, Sandbox::open(info.name));
  COVE_TRY(const std::string text, sandbox.history());
  const Json history = Json::parse(text, nullptr, false);
  for (const Json& done : history.value("commands", Json::array())) {
    if (done.value("id", "") != id) continue;
    const std::size_t before = done.value("layers_before", std::size_t{0});
    return overlays_of(info, before, before + (done.value("layer", "").empty() ? 0 : 1));
  }
  return fail(Errc::not_found, "'cove history " + info.name + "' knows no command " + id);
}

Result<std::vector<Overlaid>> wanted(const DiffOptions& options) {
  COVE_TRY(const auto opened, record::Record::open(options.name));
  COVE_TRY(const auto info, opened.info());
  if (!options.command.empty()) return overlays_of_command(info, options.command);
  if (options.from.empty()) return overlays_of(info, 0);
  COVE_TRY(const std::size_t layers, layers_of_snapshot(info, options.from));
  return overlays_of(info, layers);
}

// What the sandbox wrote may hold escape sequences: not for this terminal's eyes.
std::string harmless(std::string_view text) {
  if (isatty(1) == 0) return std::string(text);
  std::string safe;
  for (const char c : text) {
    const bool control = (static_cast<unsigned char>(c) < 32 && c != '\n' && c != '\t') || c == 127;
    safe += control ? '?' : c;
  }
  return safe;
}

Result<void> show_patch(const std::vector<Found>& found) {
  const auto sink = [](std::string_view text) -> Result<void> {
    print(harmless(text));
    return {};
  };
  for (const Found& one : found) COVE_CHECK(changes::write_patch(one.where.states, one.changes, sink));
  return {};
}

Result<void> show(const DiffOptions& options, std::vector<Found> found) {
  std::vector<changes::Change> all;
  for (Found& one : found) {
    if (options.stat || options.json) COVE_CHECK(changes::count_lines(one.where.states, one.changes));
    for (changes::Change change : one.changes) {
      change.path = one.where.below + change.path;
      all.push_back(std::move(change));
    }
  }
  if (options.json) {
    print(changes::to_json(all) + "\n");
  } else if (options.stat) {
    print(changes::stat_text(all));
  } else if (options.names) {
    for (const auto& change : all) {
      constexpr const char* kLetters[] = {"A ", "M ", "D "};
      print(kLetters[static_cast<int>(change.what)] + changes::quote_path(change.path) +
            (change.kind == changes::Kind::directory ? "/\n" : "\n"));
    }
  } else {
    return show_patch(found);
  }
  return {};
}

int run(Arguments&, DiffOptions& options) {
  if (!options.path.empty() && options.path[0] != '/') options.path = "/workspace/" + options.path;
  const auto overlays = wanted(options);
  if (!overlays) return report(overlays.error());
  auto found = find_changes(*overlays, options.path, options.only);
  if (!found) return report(found.error());
  const auto shown = show(options, std::move(*found));
  return shown ? 0 : report(shown.error());
}

}  // namespace

const Command kDiff{
    .name = "diff",
    .usage = "NAME [PATH] [--from TAG | --command ID] [--stat | --names | --json]",
    .summary = "Show changes of a sandbox's files as a patch",
    .examples =
        "  cove diff t\n"
        "  cove diff t /workspace --stat\n"
        "  cove diff t --from before | git apply",
    .run = run_with<DiffOptions>,
    .describe = describe_with<DiffOptions>,
};

}  // namespace cove::cli
