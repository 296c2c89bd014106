#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "cli/rows.h"
#include "mcp/handlers.h"

namespace cove::mcp {
namespace {

Call patient(const ToolCall& call) {
  return {.deadline = Deadline::after(std::chrono::minutes(10)), .stop = call.stop};
}

}  // namespace

Result<ToolResult> create_sandbox(Sandboxes& sandboxes, const Json& arguments, const ToolCall& call) {
  Sandboxes::Wish wish{.name = arguments.value("name", ""),
                       .image = arguments.value("image", ""),
                       .from = arguments.value("from", ""),
                       .checkpoint = arguments.value("checkpoint", false),
                       .keep = arguments.value("keep", false)};
  const Json env = arguments.value("env", Json::object());
  for (const auto& [name, value] : env.items()) wish.env.push_back(name + "=" + value.get<std::string>());
  COVE_TRY(const auto made, sandboxes.create(wish, patient(call)));
  Json result = {{"sandbox", made.name}, {"backend", made.backend}, {"kept", wish.keep}};
  if (!made.notes.empty()) result["notes"] = made.notes;
  return ToolResult{.structured = std::move(result)};
}

Result<ToolResult> list_sandboxes(Sandboxes& sandboxes, const Json&, const ToolCall&) {
  COVE_TRY(const auto all, sandboxes.list());
  Json rows = Json::array();
  for (const record::Info& info : all) {
    rows.push_back({{"sandbox", info.name},
                    {"state", record::state_of(info)},
                    {"backend", info.spec.backend},
                    {"image", info.spec.image},
                    {"kept", !info.spec.owned},
                    {"created_unix", info.created_unix}});
  }
  return ToolResult{.structured = Json{{"sandboxes", std::move(rows)}}};
}

Result<ToolResult> fork_sandbox(Sandboxes& sandboxes, const Json& arguments, const ToolCall& call) {
  COVE_TRY(const auto names,
           sandboxes.fork(arguments["sandbox"], arguments.value("count", std::size_t{1}), patient(call)));
  return ToolResult{.structured = Json{{"sandboxes", names}}};
}

Result<ToolResult> snapshot_sandbox(Sandboxes& sandboxes, const Json& arguments, const ToolCall& call) {
  const auto tag = arguments["tag"].get<std::string>();
  if (tag.starts_with('.')) return fail(Errc::invalid, "a tag does not begin with a dot");
  COVE_CHECK(sandboxes.snapshot(arguments["sandbox"], tag, patient(call)));
  return ToolResult{.structured = Json{{"sandbox", arguments["sandbox"]}, {"tag", tag}}};
}

Result<ToolResult> undo_sandbox(Sandboxes& sandboxes, const Json& arguments, const ToolCall& call) {
  COVE_TRY(const auto sandbox, sandboxes.find(arguments["sandbox"], patient(call)));
  const auto count = arguments.value("count", std::uint32_t{1});
  COVE_CHECK(sandbox->undo(count, patient(call)));
  return ToolResult{.structured = Json{{"sandbox", sandbox->name()}, {"undone", count}}};
}

Result<ToolResult> stop_sandbox(Sandboxes& sandboxes, const Json& arguments, const ToolCall& call) {
  const proto::StopRequest request{.remove = arguments.value("remove", false)};
  COVE_CHECK(sandboxes.stop(arguments["sandbox"], request, patient(call)));
  return ToolResult{.structured = Json{{"sandbox", arguments["sandbox"]}, {"stopped", true}}};
}

}  // namespace cove::mcp
