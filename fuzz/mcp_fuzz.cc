// A hostile client's bytes: lines of messages, all given to one server, whose tools give back what they get.
// Promise: every request is answered once, by one line of JSON that names its id or none; nothing else is said.

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json_text.h"
#include "fuzz.h"
#include "mcp/http_request.h"
#include "mcp/server.h"

namespace cove::fuzz {
namespace {

using namespace cove::mcp;

class Count final : public Reply {
 public:
  explicit Count(std::atomic<int>& answers) : answers_(answers) {}
  void notify(std::string message) override { look(message); }
  void finish(std::optional<std::string> message) override {
    if (message) look(*message);
    ++answers_;
  }

 private:
  static void look(const std::string& message) {
    require(message.find('\n') == std::string::npos);
    require(Json::parse(message, nullptr, false).is_object());
  }
  std::atomic<int>& answers_;
};

std::vector<Tool> tools() {
  const Json schema = Json::parse(R"({"type": "object", "properties": {"a": {"type": "integer", "minimum": 1},
    "b": {"type": "array", "items": {"type": "string", "maxLength": 3}}, "c": {"enum": [1, "x", null]}},
    "additionalProperties": {"type": ["string", "null"]}})");
  return {{"t", "T", "", schema, {}, {}, [](const Json& arguments, const ToolCall& call) -> Result<ToolResult> {
             if (call.progress) call.progress({.value = 1, .message = arguments.dump()});
             return ToolResult{.structured = arguments};
           }}};
}

void as_messages(std::string_view text) {
  static Server server(tools(), {});
  const auto client = std::make_shared<Client>();
  std::atomic<int> answers = 0;
  int requests = 0;
  while (!text.empty() && requests < 16) {
    const std::size_t end = text.find('\n');
    auto read = read_message(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (const auto* refusal = std::get_if<Refusal>(&read)) {
      require(Json::parse(error_text(*refusal), nullptr, false).is_object());
      continue;
    }
    auto message = std::get<Message>(std::move(read));
    if (message.kind == Message::Kind::request) ++requests;
    server.take(std::move(message), client, std::make_shared<Count>(answers));
  }
  require(server.drain(Deadline::after(std::chrono::seconds(5))));
  require(answers == requests && client->idle());
}

void as_http(std::string_view bytes) {
  HttpParser parser;
  std::string left;
  while (!parser.done()) {
    const auto used = parser.put(left);
    if (!used || (*used == 0 && bytes.empty())) return;
    left.erase(0, *used);
    const std::size_t piece = *used > 0 ? 0 : std::min<std::size_t>(bytes.size(), 1 + bytes.size() / 3);
    left += bytes.substr(0, piece);
    bytes.remove_prefix(piece);
  }
  if (parser.done()) require(parser.take().method.size() < 65536);
}

}  // namespace
}  // namespace cove::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  cove::fuzz::as_messages(text);
  cove::fuzz::as_http(text);
  return 0;
}
