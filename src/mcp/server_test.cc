#include "mcp/server.h"

#include <gtest/gtest.h>

#include <future>
#include <nlohmann/json.hpp>

namespace cove::mcp {
namespace {

using namespace std::chrono_literals;

class Heard final : public Reply {
 public:
  void notify(std::string message) override { notifications.push_back(Json::parse(message)); }
  void finish(std::optional<std::string> message) override {
    end_.set_value(message ? Json::parse(*message) : Json("cancelled"));
  }
  Json wait() {
    auto future = end_.get_future();
    if (future.wait_for(120s) != std::future_status::ready) return "nothing within 120 s";
    return future.get();
  }
  std::vector<Json> notifications;

 private:
  std::promise<Json> end_;
};

Message request(const Json& id, const std::string& method, Json params = Json::object(), Era era = Era::legacy) {
  return {.era = era, .id = id, .method = method, .params = std::move(params)};
}

Message cancelled(const Json& id) {
  return {.kind = Message::Kind::notification, .method = "notifications/cancelled", .params = Json{{"requestId", id}}};
}

// "echo" gives back what it gets, "wait" waits to be stopped, "fail" fails, "throw" throws, "tell" tells of progress.
std::vector<Tool> tools() {
  const Json text = Json::parse(R"({"type": "object", "properties": {"text": {"type": "string"}}})");
  const auto make = [&](const char* name, auto run) { return Tool{name, name, "A tool", text, {}, {}, run}; };
  return {make("echo",
               [](const Json& arguments, const ToolCall&) -> Result<ToolResult> {
                 return ToolResult{.structured = arguments};
               }),
          make("wait",
               [](const Json&, const ToolCall& call) -> Result<ToolResult> {
                 std::promise<void> stopped;
                 const std::stop_callback callback(call.stop, [&] { stopped.set_value(); });
                 stopped.get_future().wait();
                 return ToolResult{.structured = Json{{"stopped", true}}};
               }),
          make("fail", [](const Json&, const ToolCall&) -> Result<ToolResult> { return fail(Errc::denied, "no"); }),
          make("throw", [](const Json&, const ToolCall&) -> Result<ToolResult> { throw std::runtime_error("oh"); }),
          make("tell", [](const Json&, const ToolCall& call) -> Result<ToolResult> {
            if (call.progress) call.progress({.value = 1, .message = "half"});
            return ToolResult{.structured = Json{{"told", static_cast<bool>(call.progress)}}};
          })};
}

class McpServer : public testing::Test {
 protected:
  std::shared_ptr<Heard> send(Message message) {
    auto heard = std::make_shared<Heard>();
    server_.take(std::move(message), client_, heard);
    return heard;
  }
  Json ask(Message message) { return send(std::move(message))->wait(); }
  Json call(const Json& id, const std::string& tool, Json arguments = Json::object(), Era era = Era::legacy) {
    return ask(request(id, "tools/call", {{"name", tool}, {"arguments", std::move(arguments)}}, era));
  }

  Server server_{tools(), {.version = "1", .instructions = "Use it."}};
  std::shared_ptr<Client> client_ = std::make_shared<Client>();
};

TEST_F(McpServer, InitializeEchoesAVersionThatItKnowsAndElseGivesItsNewest) {
  const auto version = [&](const char* wanted) {
    return ask(request(1, "initialize", {{"protocolVersion", wanted}}))["result"]["protocolVersion"];
  };
  EXPECT_EQ(version("2025-06-18"), "2025-06-18");
  EXPECT_EQ(version("1999-01-01"), "2025-11-25");
  EXPECT_EQ(version("2026-07-28"), "2025-11-25");
  EXPECT_EQ(ask(request(1, "initialize"))["error"]["code"], kInvalidParams);
}

TEST_F(McpServer, EachEraHasItsOwnMethods) {
  EXPECT_EQ(ask(request(1, "ping"))["result"], Json::object());
  EXPECT_EQ(ask(request(1, "ping", Json::object(), Era::modern))["error"]["code"], kMethodNotFound);
  EXPECT_EQ(ask(request(1, "initialize", {{"protocolVersion", "x"}}, Era::modern))["error"]["code"], kMethodNotFound);
  EXPECT_EQ(ask(request(1, "server/discover"))["error"]["code"], kMethodNotFound);
  const Json found = ask(request(1, "server/discover", Json::object(), Era::modern))["result"];
  EXPECT_EQ(found["resultType"], "complete");
  EXPECT_EQ(found["supportedVersions"][0], "2026-07-28");
  EXPECT_EQ(found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "cove");
  EXPECT_EQ(ask(request(1, "resources/list"))["error"]["code"], kMethodNotFound);
}

TEST_F(McpServer, ToolsAreListedInOrderOnOnePage) {
  const Json legacy = ask(request(1, "tools/list"))["result"];
  EXPECT_EQ(legacy["tools"].size(), 5U);
  EXPECT_EQ(legacy["tools"][0]["name"], "echo");
  EXPECT_FALSE(legacy.contains("resultType"));
  const Json modern = ask(request(1, "tools/list", Json::object(), Era::modern))["result"];
  EXPECT_EQ(modern["resultType"], "complete");
  EXPECT_TRUE(modern["ttlMs"].is_number_integer());
  EXPECT_EQ(ask(request(1, "tools/list", {{"cursor", "x"}}))["error"]["code"], kInvalidParams);
}

TEST_F(McpServer, AResultIsStructuredAndTheSameAsText) {
  const Json result = call(1, "echo", {{"text", "hi"}})["result"];
  EXPECT_EQ(result["structuredContent"]["text"], "hi");
  EXPECT_EQ(Json::parse(result["content"][0]["text"].get<std::string>()), result["structuredContent"]);
  EXPECT_EQ(result["isError"], false);
  EXPECT_EQ(call(1, "echo", Json::object(), Era::modern)["result"]["resultType"], "complete");
}

TEST_F(McpServer, WhatAToolCannotDoIsAResultThatIsAnError) {
  EXPECT_EQ(call(1, "fail")["result"]["isError"], true);
  EXPECT_EQ(call(1, "fail")["result"]["content"][0]["text"], "denied: no");
  EXPECT_EQ(call(1, "echo", {{"text", 3}})["result"]["isError"], true);
  EXPECT_EQ(call(1, "throw")["error"]["code"], kInternalError);
  EXPECT_EQ(call(1, "nothing")["error"]["code"], kInvalidParams);
  EXPECT_EQ(ask(request(1, "tools/call", {{"name", 7}}))["error"]["code"], kInvalidParams);
  EXPECT_EQ(ask(request(1, "tools/call", {{"name", "echo"}, {"arguments", 7}}))["error"]["code"], kInvalidParams);
  EXPECT_EQ(ask(request(1, "tools/call", {{"name", "echo"}}))["result"]["isError"], false);
}

TEST_F(McpServer, CancellationReachesExactlyItsRequest) {
  const auto first = send(request(1, "tools/call", {{"name", "wait"}}));
  const auto second = send(request("1", "tools/call", {{"name", "wait"}}));
  server_.take(cancelled("1"), client_, nullptr);
  EXPECT_EQ(second->wait(), "cancelled");
  EXPECT_FALSE(client_->idle());
  server_.take(cancelled(1), client_, nullptr);
  EXPECT_EQ(first->wait(), "cancelled");
  server_.take(cancelled(99), client_, nullptr);
  server_.take(cancelled(Json::object()), client_, nullptr);
}

TEST_F(McpServer, AnotherClientsCancellationReachesNothing) {
  const auto waiting = send(request(1, "tools/call", {{"name", "wait"}}));
  server_.take(cancelled(1), std::make_shared<Client>(), nullptr);
  EXPECT_FALSE(server_.drain(Deadline::after(20ms)));
  server_.stop();
  EXPECT_EQ(waiting->wait(), "cancelled");
}

TEST_F(McpServer, AnIdThatIsUnderWayIsRefusedAndFreeAfterwards) {
  const auto waiting = send(request(1, "tools/call", {{"name", "wait"}}));
  EXPECT_EQ(call(1, "echo")["error"]["code"], kInvalidRequest);
  client_->cancel_all();
  EXPECT_EQ(waiting->wait(), "cancelled");
  ASSERT_TRUE(server_.drain(Deadline::after(120s)));
  EXPECT_EQ(call(1, "echo")["result"]["isError"], false);
}

TEST_F(McpServer, MoreCallsThanAreAllowedAreRefused) {
  std::vector<std::shared_ptr<Heard>> waiting;
  for (std::size_t i = 0; i < kMostCalls; ++i) waiting.push_back(send(request(i, "tools/call", {{"name", "wait"}})));
  EXPECT_EQ(call("more", "echo")["error"]["code"], kInternalError);
  server_.stop();
  for (const auto& one : waiting) EXPECT_EQ(one->wait(), "cancelled");
  EXPECT_EQ(call("after", "echo")["error"]["code"], kInternalError);
}

TEST_F(McpServer, ProgressIsToldToThoseWhoGaveAToken) {
  const auto told = send(request(1, "tools/call", {{"name", "tell"}, {"_meta", {{"progressToken", "t"}}}}));
  EXPECT_EQ(told->wait()["result"]["structuredContent"]["told"], true);
  ASSERT_EQ(told->notifications.size(), 1U);
  EXPECT_EQ(told->notifications[0]["params"]["progressToken"], "t");
  EXPECT_EQ(told->notifications[0]["params"]["message"], "half");
  const auto untold = send(request(2, "tools/call", {{"name", "tell"}, {"_meta", {{"progressToken", Json::array()}}}}));
  EXPECT_EQ(untold->wait()["result"]["structuredContent"]["told"], false);
  EXPECT_TRUE(untold->notifications.empty());
}

}  // namespace
}  // namespace cove::mcp
