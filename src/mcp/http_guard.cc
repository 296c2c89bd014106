#include "mcp/http_guard.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/ascii.h"
#include "mcp/token.h"

namespace cove::mcp {
namespace {

// "name", "name:80", "[::1]:80": without the port, in lower case.
std::string host_name(std::string_view host) {
  const std::size_t bracket = host.rfind(']');
  const std::size_t colon = host.find(':', host.starts_with('[') && bracket != host.npos ? bracket : 0);
  const std::string_view port = colon == host.npos ? "" : host.substr(colon + 1);
  if (port.size() > 5 || !std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; })) return "";
  return lower(host.substr(0, colon));
}

bool is_ours(std::string_view host, const HttpRules& rules) {
  const std::string name = host_name(host);
  if (name == "localhost" || name == "127.0.0.1" || name == "[::1]") return true;
  return std::any_of(rules.hosts.begin(), rules.hosts.end(),
                     [&](const std::string& one) { return name == lower(one); });
}

bool is_our_origin(const std::string& origin, const HttpRules& rules) {
  if (std::find(rules.origins.begin(), rules.origins.end(), origin) != rules.origins.end()) return true;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (origin.starts_with(scheme)) return is_ours(std::string_view(origin).substr(scheme.size()), rules);
  }
  return false;
}

bool lists(const HttpRequest& request, const std::string& name, std::string_view what) {
  const auto [first, last] = request.fields.equal_range(name);
  return std::any_of(first, last, [&](const auto& one) { return one.second.find(what) != std::string::npos; });
}

Refusal mismatch(const JsonBox& id, const std::string& what) {
  return {.code = kHeaderMismatch, .message = "the headers do not fit the body: " + what, .id = id};
}

bool knows(std::span<const std::string_view> versions, const std::string& version) {
  return std::find(versions.begin(), versions.end(), version) != versions.end();
}

std::optional<Refusal> check_modern(const HttpRequest& request, const Message& message) {
  if (message.kind != Message::Kind::request) return std::nullopt;
  if (request.field("mcp-protocol-version") != message.version)
    return mismatch(message.id, "MCP-Protocol-Version is not the protocol version in _meta");
  if (request.field("mcp-method") != message.method) return mismatch(message.id, "Mcp-Method is not the method");
  const Json name = message.params->value("name", Json());
  if (message.method == "tools/call" && name.is_string() && request.field("mcp-name") != name.get<std::string>())
    return mismatch(message.id, "Mcp-Name is not params.name");
  return std::nullopt;
}

}  // namespace

HttpVerdict check_sender(const HttpRequest& request, const HttpRules& rules) {
  const auto host = request.field("host");
  if (!host || !is_ours(*host, rules)) return {403, "this Host is not served here: see --allow-host"};
  if (request.count("origin") > 0) {
    const auto origin = request.field("origin");
    if (!origin || !is_our_origin(*origin, rules)) return {403, "this Origin may not ask here: see --allow-origin"};
  }
  if (rules.token.empty()) return {};
  const std::string given = request.field("authorization").value_or("");
  const bool bearer = given.size() > 7 && lower(given.substr(0, 6)) == "bearer" && given[6] == ' ';
  if (!bearer || !same_secret(std::string_view(given).substr(7), rules.token)) return {401, "a bearer token is needed"};
  return {};
}

bool accepts_stream(const HttpRequest& request) { return lists(request, "accept", "text/event-stream"); }

bool accepts_json(const HttpRequest& request) {
  return request.count("accept") == 0 || lists(request, "accept", "application/json") ||
         lists(request, "accept", "*/*") || lists(request, "accept", "application/*");
}

HttpVerdict check_post(const HttpRequest& request) {
  const std::string type = request.field("content-type").value_or("");
  const std::string essence = type.substr(0, type.find_first_of("; "));
  if (lower(essence) != "application/json") return {415, "Content-Type must be application/json"};
  if (!accepts_json(request) && !accepts_stream(request))
    return {406, "Accept must name application/json or text/event-stream"};
  return {};
}

std::optional<Refusal> check_headers(const HttpRequest& request, const Message& message) {
  if (message.era == Era::modern) return check_modern(request, message);
  if (request.count("mcp-protocol-version") == 0 || message.method == "initialize") return std::nullopt;
  const std::string version = request.field("mcp-protocol-version").value_or("");
  if (knows(legacy_versions(), version)) return std::nullopt;
  if (!knows(modern_versions(), version))
    return Refusal{.code = kUnsupportedVersion,
                   .message = "this protocol version is not supported",
                   .id = message.id,
                   .data = Json{{"supported", supported_versions()}, {"requested", version.substr(0, 64)}}};
  if (message.kind != Message::Kind::request) return std::nullopt;
  return Refusal{
      .code = kInvalidParams, .message = "_meta: io.modelcontextprotocol/protocolVersion is missing", .id = message.id};
}

Refusal check_refusal(const HttpRequest& request, const Refusal& refusal) {
  if (refusal.code != kUnsupportedVersion) return refusal;
  const std::string version = request.field("mcp-protocol-version").value_or("");
  if (refusal.data->at("requested") == version.substr(0, 64)) return refusal;
  return mismatch(refusal.id, "MCP-Protocol-Version is not the protocol version in _meta");
}

int http_status(const Refusal& refusal, Era era) {
  if (refusal.code == kMethodNotFound) return era == Era::modern ? 404 : 200;
  return refusal.code == kInternalError ? 500 : 400;
}

}  // namespace cove::mcp
