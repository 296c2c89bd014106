// The tools that the official conformance suite calls, served by our own protocol and HTTP: what the suite checks is
// the same code that `cove mcp` runs.

#include <sys/signalfd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

#include "mcp/http.h"

namespace cove::mcp {
namespace {

constexpr const char* kPixel =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
constexpr const char* kSilence = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

Json text(const char* words) { return {{"type", "text"}, {"text", words}}; }
Json image() { return {{"type", "image"}, {"data", kPixel}, {"mimeType", "image/png"}}; }
Json audio() { return {{"type", "audio"}, {"data", kSilence}, {"mimeType", "audio/wav"}}; }
Json resource(const char* uri, const char* type, const char* words) {
  return {{"type", "resource"}, {"resource", {{"uri", uri}, {"mimeType", type}, {"text", words}}}};
}

Tool giving(const char* name, Json content) {
  return {name,
          name,
          "For the conformance suite",
          Json{{"type", "object"}},
          {},
          {},
          [content = std::move(content)](const Json&, const ToolCall&) -> Result<ToolResult> {
            return ToolResult{.content = content};
          }};
}

Result<ToolResult> tell_progress(const Json&, const ToolCall& call) {
  for (const double value : {0.0, 50.0, 100.0}) {
    if (call.progress) call.progress({.value = value, .total = 100});
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // what the suite asks for
  }
  return ToolResult{.content = Json::array({text("done")})};
}

std::vector<Tool> tools() {
  std::vector<Tool> all{
      giving("test_simple_text", Json::array({text("This is a simple text response for testing.")})),
      giving("test_image_content", Json::array({image()})),
      giving("test_audio_content", Json::array({audio()})),
      giving("test_embedded_resource", Json::array({resource("test://embedded-resource", "text/plain",
                                                             "This is an embedded resource content.")})),
      giving("test_multiple_content_types",
             Json::array({text("Multiple content types test:"), image(),
                          resource("test://mixed-content-resource", "application/json", "{\"test\":\"data\"}")})),
      giving("json_schema_2020_12_tool", Json::array({text("ok")}))};
  all.back().input_schema = Json::parse(R"({"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
    "$defs": {"address": {"$anchor": "addressDef", "type": "object",
      "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
      "contactMethod": {"type": "string", "enum": ["phone", "email"]},
      "phone": {"type": "string"}, "email": {"type": "string"}},
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]}, "else": {"required": ["email"]}, "additionalProperties": false})");
  all.push_back(giving("test_error_handling", nullptr));
  all.back().run = [](const Json&, const ToolCall&) -> Result<ToolResult> {
    return fail(Errc::invalid, "This tool intentionally returns an error for testing");
  };
  all.push_back(giving("test_tool_with_progress", nullptr));
  all.back().run = tell_progress;
  return all;
}

}  // namespace
}  // namespace cove::mcp

int main() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  const cove::UniqueFd stop(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  const auto listening = cove::mcp::listen_http("127.0.0.1:0");
  if (!listening) return 1;
  std::printf("http://127.0.0.1:%d/mcp\n", listening->port);
  std::fflush(stdout);
  cove::mcp::Server server(cove::mcp::tools(), {.version = "1"});
  cove::mcp::serve_http(server, *listening, {}, stop.get());
  return 0;
}
