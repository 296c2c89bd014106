#include "mcp/tool.h"

#include <nlohmann/json.hpp>

#include "base/json_text.h"

namespace cove::mcp {

Json to_json(const Tool& tool) {
  Json json = {{"name", tool.name},
               {"title", tool.title},
               {"description", tool.description},
               {"inputSchema", *tool.input_schema},
               {"annotations",
                {{"title", tool.title},
                 {"readOnlyHint", tool.hints.read_only},
                 {"destructiveHint", tool.hints.destructive},
                 {"idempotentHint", tool.hints.idempotent},
                 {"openWorldHint", tool.hints.open_world}}}};
  if (!tool.output_schema.is_null()) json["outputSchema"] = *tool.output_schema;
  return json;
}

namespace {

Json text_content(const std::string& text) { return Json::array({{{"type", "text"}, {"text", text}}}); }

}  // namespace

Json to_json(const Result<ToolResult>& result) {
  if (!result) return {{"content", text_content(result.error().text())}, {"isError", true}};
  Json json = {{"content", *result->content}, {"isError", result->is_error}};
  if (result->content.is_null()) json["content"] = text_content(json_text(*result->structured));
  if (!result->structured.is_null()) json["structuredContent"] = *result->structured;
  return json;
}

}  // namespace cove::mcp
