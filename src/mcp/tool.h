#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "base/error.h"
#include "mcp/message.h"

namespace cove::mcp {

// What a call may do besides giving its result. Used by the thread that runs it.
struct ToolCall {
  struct Progress {
    double value = 0;  // larger each time
    std::optional<double> total = std::nullopt;
    std::string message = {};
  };
  std::stop_token stop;                           // the client no longer wants it
  std::function<void(const Progress&)> progress;  // empty: nobody wants to know
};

struct ToolResult {
  JsonBox structured;  // an object as the output schema says; also sent as text
  JsonBox content;     // an array, where text alone does not do
  bool is_error = false;
};

// What a model is told about a tool, as the protocol calls it.
struct ToolHints {
  bool read_only = false, destructive = false, idempotent = false, open_world = false;
};

// Arguments have been checked against the input schema (schema.h). An Error becomes a result with isError: the model
// reads its sentence and may do better.
struct Tool {
  std::string name, title, description;
  JsonBox input_schema, output_schema;  // output_schema: null if it has none
  ToolHints hints;
  std::function<Result<ToolResult>(const Json& arguments, const ToolCall& call)> run;
};

Json to_json(const Tool& tool);
Json to_json(const Result<ToolResult>& result);

}  // namespace cove::mcp
