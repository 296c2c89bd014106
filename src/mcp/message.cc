#include "mcp/message.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/json_text.h"

namespace cove::mcp {
namespace {

constexpr const char* kVersionKey = "io.modelcontextprotocol/protocolVersion";
constexpr const char* kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";

// A fraction is no id of ours to give back: two of them may be told apart by nobody.
bool is_id(const Json& id) {
  return id.is_number_integer() || (id.is_string() && id.get_ref<const std::string&>().size() <= kMostId);
}

Refusal refuse(int code, std::string why, const JsonBox& id, JsonBox data = {}) {
  return {.code = code, .message = std::move(why), .id = id, .data = std::move(data)};
}

// What a request claims about itself; none: it is a legacy one.
std::optional<Refusal> read_era(Message& message) {
  const auto meta = message.params->find("_meta");
  if (meta == message.params->end()) return std::nullopt;
  if (!meta->is_object()) return refuse(kInvalidParams, "params._meta is not an object", message.id);
  const auto version = meta->find(kVersionKey);
  if (version == meta->end()) return std::nullopt;
  message.era = Era::modern;
  if (!version->is_string())
    return refuse(kInvalidParams, std::string("_meta: ") + kVersionKey + " is not a string", message.id);
  message.version = version->get<std::string>();
  const auto known = modern_versions();
  if (std::find(known.begin(), known.end(), message.version) == known.end()) {
    return refuse(kUnsupportedVersion, "this protocol version is not supported", message.id,
                  Json{{"supported", supported_versions()}, {"requested", message.version.substr(0, 64)}});
  }
  const auto capabilities = meta->find(kCapabilitiesKey);
  if (message.kind == Message::Kind::request && (capabilities == meta->end() || !capabilities->is_object()))
    return refuse(kInvalidParams, std::string("_meta: ") + kCapabilitiesKey + " is missing or not an object",
                  message.id);
  return std::nullopt;
}

Json envelope() { return {{"jsonrpc", "2.0"}}; }

}  // namespace

std::span<const std::string_view> modern_versions() {
  static constexpr std::array<std::string_view, 1> all{"2026-07-28"};
  return all;
}

std::span<const std::string_view> legacy_versions() {
  static constexpr std::array<std::string_view, 4> all{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};
  return all;
}

Json supported_versions() {
  Json all = Json::array();
  for (const std::string_view version : modern_versions()) all.push_back(version);
  for (const std::string_view version : legacy_versions()) all.push_back(version);
  return all;
}

std::variant<Message, Refusal> read_message(std::string_view text) {
  if (text.size() > kMostMessage) return refuse(kInvalidRequest, "the message is larger than 8 MiB", {});
  Json json = parse_json(text);
  if (json.is_discarded()) return refuse(kParseError, "this is not JSON, or it is nested too deeply", {});
  if (json.is_array()) return refuse(kInvalidRequest, "batches are not supported: send one message at a time", {});
  if (!json.is_object()) return refuse(kInvalidRequest, "a message is a JSON object", {});
  Message message;
  const bool has_id = json.contains("id");
  if (has_id && is_id(json["id"])) message.id = json["id"];
  if (json.value("jsonrpc", Json()) != "2.0") return refuse(kInvalidRequest, "jsonrpc is not \"2.0\"", message.id);
  if (json.contains("method")) {
    if (!json["method"].is_string()) return refuse(kInvalidRequest, "method is not a string", message.id);
    message.method = json["method"].get<std::string>();
    if (has_id && message.id.is_null())
      return refuse(kInvalidRequest, "id is neither a whole number nor a string of at most 256 bytes", {});
    message.kind = has_id ? Message::Kind::request : Message::Kind::notification;
  } else {
    if (!json.contains("result") && !json.contains("error"))
      return refuse(kInvalidRequest, "the message has neither a method nor a result", message.id);
    message.kind = Message::Kind::response;
  }
  message.params = Json::object();
  if (json.contains("params")) {
    if (!json["params"].is_object()) return refuse(kInvalidParams, "params is not an object", message.id);
    message.params = std::move(json["params"]);
  }
  if (auto refusal = read_era(message)) return std::move(*refusal);
  return message;
}

std::string result_text(const Json& id, const Json& result) {
  Json message = envelope();
  message["id"] = id;
  message["result"] = result;
  return json_text(message);
}

std::string error_text(const Refusal& refusal) {
  Json message = envelope();
  message["id"] = *refusal.id;
  message["error"] = {{"code", refusal.code}, {"message", refusal.message}};
  if (!refusal.data.is_null()) message["error"]["data"] = *refusal.data;
  return json_text(message);
}

std::string notification_text(std::string_view method, const Json& params) {
  Json message = envelope();
  message["method"] = method;
  message["params"] = params;
  return json_text(message);
}

}  // namespace cove::mcp
