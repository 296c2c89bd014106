#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "cli/overlays.h"
#include "mcp/bounded.h"
#include "mcp/handlers.h"

namespace cove::mcp {
namespace {

constexpr std::size_t kMostChanges = 1000, kMostPatch = std::size_t{128} << 10;

struct Summary {
  Json changes = Json::array();
  bool cut = false;

  Result<void> add(cli::Found& found) {
    cut = cut || changes.size() + found.changes.size() > kMostChanges;
    found.changes.resize(std::min(found.changes.size(), kMostChanges - changes.size()));
    COVE_CHECK(changes::count_lines(found.where.states, found.changes));
    std::vector<changes::Change> named = found.changes;
    for (changes::Change& change : named) change.path = "/" + found.where.below + change.path;
    for (Json& one : Json::parse(changes::to_json(named))) changes.push_back(std::move(one));
    return {};
  }
};

}  // namespace

Result<ToolResult> diff_sandbox(Sandboxes& sandboxes, const Json& arguments, const ToolCall& call) {
  COVE_TRY(const auto sandbox, sandboxes.find(arguments["sandbox"], {.stop = call.stop}));
  COVE_TRY(const auto record, record::Record::open(sandbox->name()));
  COVE_TRY(const auto info, record.info());
  COVE_TRY(const auto overlays, cli::overlays_of(info, 0));
  std::string path = arguments.value("path", "");
  if (!path.empty() && path[0] != '/') path.insert(0, "/workspace/");
  COVE_TRY(auto found, cli::find_changes(overlays, path, {}));
  Summary summary;
  Bounded patch(arguments.value("patch", true) ? kMostPatch : 0);
  const auto sink = [&](std::string_view text) -> Result<void> {
    if (call.stop.stop_requested()) return fail(Errc::cancelled, "the call was stopped");
    patch.add(text);
    return {};
  };
  for (cli::Found& one : found) {
    COVE_CHECK(summary.add(one));
    if (arguments.value("patch", true)) COVE_CHECK(changes::write_patch(one.where.states, one.changes, sink));
  }
  return ToolResult{.structured = Json{{"sandbox", sandbox->name()},
                                       {"changes", std::move(summary.changes)},
                                       {"patch", patch.text()},
                                       {"truncated", summary.cut || patch.cut()}}};
}

}  // namespace cove::mcp
