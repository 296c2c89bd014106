#include "mcp/server.h"

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <thread>

#include "mcp/schema.h"

namespace cove::mcp {
namespace {

Refusal refusal_of(const Message& request, int code, std::string why) {
  return {.code = code, .message = std::move(why), .id = request.id};
}

// Every modern result says that it is one and whose it is.
Json finished_result(Json result, Era era, const Json& server_info) {
  if (era == Era::legacy) return result;
  result["resultType"] = "complete";
  result["_meta"]["io.modelcontextprotocol/serverInfo"] = server_info;
  return result;
}

Json progress_token(const Message& request) {
  const Json meta = request.params->value("_meta", Json::object());
  Json token = meta.value("progressToken", Json());
  if (token.is_number_integer() || token.is_number_float()) return token;
  if (token.is_string() && token.get_ref<const std::string&>().size() <= kMostId) return token;
  return nullptr;
}

std::function<void(const ToolCall::Progress&)> progress_of(const Message& request, Reply& reply) {
  const Json token = progress_token(request);
  if (token.is_null()) return {};
  return [token, &reply](const ToolCall::Progress& progress) {
    Json params = {{"progressToken", token}, {"progress", progress.value}};
    if (progress.total) params["total"] = *progress.total;
    if (!progress.message.empty()) params["message"] = progress.message;
    reply.notify(notification_text("notifications/progress", params));
  };
}

}  // namespace

bool Client::begin(const Json& id, std::stop_source stop) {
  const std::lock_guard guard(mutex_);
  return under_way_.emplace(id.dump(), std::move(stop)).second;
}

void Client::end(const Json& id) {
  const std::lock_guard guard(mutex_);
  under_way_.erase(id.dump());
}

void Client::cancel(const Json& id) {
  std::stop_source stop(std::nostopstate);
  {
    const std::lock_guard guard(mutex_);
    const auto found = under_way_.find(id.dump());
    if (found != under_way_.end()) stop = found->second;
  }
  stop.request_stop();
}

void Client::cancel_all() {
  std::vector<std::stop_source> all;
  {
    const std::lock_guard guard(mutex_);
    for (const auto& [id, stop] : under_way_) all.push_back(stop);
  }
  for (std::stop_source& stop : all) stop.request_stop();
}

bool Client::idle() const {
  const std::lock_guard guard(mutex_);
  return under_way_.empty();
}

Server::Server(std::vector<Tool> tools, About about) : tools_(std::move(tools)), about_(std::move(about)) {}

Server::~Server() { stop(); }

void Server::take(Message message, const std::shared_ptr<Client>& client, const std::shared_ptr<Reply>& reply) {
  if (message.kind == Message::Kind::notification) {
    const auto id = message.params->find("requestId");
    if (message.method == "notifications/cancelled" && id != message.params->end() &&
        (id->is_number_integer() || id->is_string()))
      client->cancel(*id);
    return;
  }
  if (message.kind == Message::Kind::response) return;  // we ask nothing
  if (message.method == "tools/call") return start_call(std::move(message), client, reply);
  const auto answered = answer(message);
  if (const auto* refusal = std::get_if<Refusal>(&answered)) return reply->finish(error_text(*refusal));
  reply->finish(result_text(*message.id, finished_result(std::get<Json>(answered), message.era, server_info())));
}

std::variant<Json, Refusal> Server::answer(const Message& request) const {
  const bool legacy = request.era == Era::legacy;
  if (request.method == "tools/list") return list_tools(request);
  if (!legacy && request.method == "server/discover") return discover();
  if (legacy && request.method == "ping") return Json::object();
  if (legacy && request.method == "initialize") {
    if (request.params->value("protocolVersion", Json()).is_string()) return initialize(request);
    return refusal_of(request, kInvalidParams, "initialize: protocolVersion is missing");
  }
  return refusal_of(request, kMethodNotFound, "there is no method " + request.method.substr(0, 128));
}

Json Server::server_info() const { return {{"name", "cove"}, {"title", "Cove"}, {"version", about_.version}}; }

Json Server::initialize(const Message& request) const {
  const auto wanted = request.params->at("protocolVersion").get<std::string>();
  const auto known = legacy_versions();
  const bool is_known = std::find(known.begin(), known.end(), wanted) != known.end();
  return {{"protocolVersion", is_known ? wanted : std::string(known[0])},
          {"capabilities", {{"tools", Json::object()}}},
          {"serverInfo", server_info()},
          {"instructions", about_.instructions}};
}

Json Server::discover() const {
  return {{"supportedVersions", supported_versions()},
          {"capabilities", {{"tools", Json::object()}}},
          {"instructions", about_.instructions},
          {"ttlMs", 3'600'000},
          {"cacheScope", "private"}};
}

std::variant<Json, Refusal> Server::list_tools(const Message& request) const {
  if (request.params->contains("cursor"))
    return refusal_of(request, kInvalidParams, "this cursor is not ours: all tools are on one page");
  Json tools = Json::array();
  for (const Tool& tool : tools_) tools.push_back(to_json(tool));
  Json result = {{"tools", std::move(tools)}};
  if (request.era == Era::modern) result.update({{"ttlMs", 3'600'000}, {"cacheScope", "private"}});
  return result;
}

const Tool* Server::find_tool(const Message& request) const {
  const Json name = request.params->value("name", Json());
  for (const Tool& tool : tools_) {
    if (name == tool.name) return &tool;
  }
  return nullptr;
}

std::variant<std::list<Server::Running>::iterator, Refusal> Server::admit(const Message& request, Client& client,
                                                                          const std::stop_source& stop) {
  const std::lock_guard guard(mutex_);
  if (stopped_) return refusal_of(request, kInternalError, "the server is being stopped");
  if (running_.size() >= kMostCalls)
    return refusal_of(request, kInternalError, "64 calls are under way already: try again later");
  if (!client.begin(*request.id, stop))
    return refusal_of(request, kInvalidRequest, "a request with this id is under way");
  return running_.insert(running_.end(), Running{stop});
}

void Server::start_call(Message request, const std::shared_ptr<Client>& client, const std::shared_ptr<Reply>& reply) {
  const auto refuse = [&](int code, std::string why) {
    reply->finish(error_text(refusal_of(request, code, std::move(why))));
  };
  const Tool* tool = find_tool(request);
  if (tool == nullptr) return refuse(kInvalidParams, "there is no such tool: see tools/list");
  if (!request.params->value("arguments", Json::object()).is_object())
    return refuse(kInvalidParams, "params.arguments is not an object");
  const std::stop_source stop;
  const auto admitted = admit(request, *client, stop);
  if (const auto* refusal = std::get_if<Refusal>(&admitted)) return reply->finish(error_text(*refusal));
  const auto running = std::get<std::list<Running>::iterator>(admitted);
  auto work = [this, tool, running, stop, client, reply, request] {
    auto last = run_call(request, *tool, stop.get_token(), *reply);
    client->end(*request.id);  // first: whoever has the answer may use the id again
    reply->finish(std::move(last));
    finished(running);
  };
  try {
    std::thread(std::move(work)).detach();
  } catch (const std::exception&) {
    client->end(*request.id);
    refuse(kInternalError, "no thread could be started for the call: try again later");
    finished(running);
  }
}

std::optional<std::string> Server::run_call(const Message& request, const Tool& tool, const std::stop_token& stop,
                                            Reply& reply) const {
  try {
    const Json arguments = request.params->value("arguments", Json::object());
    const ToolCall call{.stop = stop, .progress = progress_of(request, reply)};
    const auto checked = check_schema(*tool.input_schema, arguments, "arguments");
    const Result<ToolResult> result = checked ? tool.run(arguments, call) : fail(checked.error());
    if (stop.stop_requested()) return std::nullopt;
    return result_text(*request.id, finished_result(to_json(result), request.era, server_info()));
  } catch (const std::exception& error) {
    return error_text(refusal_of(request, kInternalError, std::string("internal error: ") + error.what()));
  }
}

void Server::finished(std::list<Running>::iterator running) {
  const std::lock_guard guard(mutex_);
  running_.erase(running);
  idle_.notify_all();
}

bool Server::drain(Deadline deadline) {
  std::unique_lock lock(mutex_);
  const auto idle = [&] { return running_.empty(); };
  if (!deadline.is_never()) return idle_.wait_until(lock, deadline.at(), idle);
  idle_.wait(lock, idle);
  return true;
}

void Server::stop() {
  std::vector<std::stop_source> all;
  {
    const std::lock_guard guard(mutex_);
    stopped_ = true;
    for (const Running& running : running_) all.push_back(running.stop);
  }
  for (std::stop_source& stop : all) stop.request_stop();
  drain(Deadline::never());
}

}  // namespace cove::mcp
