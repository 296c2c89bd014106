#include "mcp/http.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <future>
#include <nlohmann/json.hpp>
#include <thread>

namespace cove::mcp {
namespace {

using namespace std::chrono_literals;

// "wait" tells of progress once and waits to be stopped; that it was is told to the test.
class McpHttp : public testing::Test {
 protected:
  McpHttp() {
    EXPECT_EQ(pipe2(stop_, O_CLOEXEC), 0);
    auto listening = listen_http("127.0.0.1:0");
    EXPECT_TRUE(listening);
    if (listening) listening_ = std::move(*listening);
    serving_ = std::thread([this] { serve_http(server_, listening_, {}, stop_[0]); });
  }
  ~McpHttp() override {
    EXPECT_EQ(write(stop_[1], "x", 1), 1);
    serving_.join();
    for (const int end : stop_) close(end);
  }

  UniqueFd connected() const {
    UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(listening_.port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    const timeval patience{.tv_sec = 30, .tv_usec = 0};
    setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    return fd;
  }
  static void say(const UniqueFd& fd, const std::string& text) {
    EXPECT_EQ(send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  // All that comes, or all up to `until`.
  static std::string hear(const UniqueFd& fd, const std::string& until = "") {
    std::string heard, buffer(4096, '\0');
    while (until.empty() || heard.find(until) == std::string::npos) {
      const ssize_t n = recv(fd.get(), buffer.data(), buffer.size(), 0);
      if (n <= 0) break;
      heard.append(buffer, 0, static_cast<std::size_t>(n));
    }
    return heard;
  }
  std::string ask(const std::string& text) const {
    const UniqueFd fd = connected();
    say(fd, text);
    return hear(fd);
  }
  static std::string post(const std::string& body, const std::string& fields = "") {
    return "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
           "Accept: application/json, text/event-stream\r\n" +
           fields + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  static int status(const std::string& answer) { return answer.size() > 12 ? std::stoi(answer.substr(9, 3)) : 0; }
  std::string session() const {
    const std::string answer =
        ask(post(R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}})"));
    const std::size_t at = answer.find("Mcp-Session-Id: ");
    EXPECT_NE(at, std::string::npos) << answer;
    return "Mcp-Session-Id: " + answer.substr(at + 16, 32) + "\r\n";
  }
  static std::string modern(const std::string& method, const std::string& more = "") {
    return R"({"jsonrpc":"2.0","id":5,"method":")" + method + R"(","params":{)" + more +
           R"("_meta":{"progressToken":1,"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
           R"("io.modelcontextprotocol/clientCapabilities":{}}}})";
  }
  static std::string modern_fields(const std::string& method) {
    return "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: " + method + "\r\n";
  }

  std::promise<void> stopped_;
  Server server_{{{"wait",
                   "Wait",
                   "",
                   Json::object(),
                   {},
                   {},
                   [this](const Json&, const ToolCall& call) -> Result<ToolResult> {
                     if (call.progress) call.progress({.value = 1, .message = "begun"});
                     std::promise<void> over;
                     const std::stop_callback callback(call.stop, [&] { over.set_value(); });
                     over.get_future().wait();
                     stopped_.set_value();
                     return ToolResult{.structured = Json::object()};
                   }}},
                 {.version = "1"}};
  Listening listening_;
  int stop_[2] = {-1, -1};
  std::thread serving_;
};

const std::string kPing = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
const std::string kWait =
    R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"wait","_meta":{"progressToken":1}}})";

TEST_F(McpHttp, OnlyPostsToTheEndpointAreServed) {
  EXPECT_EQ(status(ask("GET /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")), 405);
  EXPECT_EQ(status(ask("POST /other HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")), 404);
  EXPECT_EQ(status(ask("POST /mcp HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")), 403);
  EXPECT_EQ(status(ask("nonsense\r\n\r\n")), 400);
  EXPECT_EQ(status(ask("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n")), 413);
  EXPECT_EQ(status(ask(post("{"))), 400);
  EXPECT_EQ(status(ask(post(kPing))), 200);
  EXPECT_EQ(status(ask(post(R"({"jsonrpc":"2.0","method":"notifications/initialized"})"))), 202);
}

TEST_F(McpHttp, AStrangersBodyIsNotWaitedFor) {
  const std::string length = "Content-Length: 1000000\r\n\r\n{";
  EXPECT_EQ(status(ask("POST /mcp HTTP/1.1\r\nHost: evil.example\r\n" + length)), 403);
  EXPECT_EQ(status(ask("POST /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n" + length)), 403);
}

TEST_F(McpHttp, ConnectionsThatDoNotFitAreClosedAndLeaveRoomAgain) {
  std::vector<UniqueFd> held;
  for (std::size_t i = 0; i < kMostConnections; ++i) {
    held.push_back(connected());
    std::string text = post(kPing);
    text.erase(text.find("Connection: close\r\n"), 19);
    say(held.back(), text);
    EXPECT_EQ(status(hear(held.back(), "\"id\":1,")), 200);  // it is served, and stays
  }
  EXPECT_EQ(hear(connected()), "");
  held.clear();
  const Deadline deadline = Deadline::after(120s);
  std::string answer;
  while (answer.empty() && !deadline.passed()) {
    const UniqueFd fd = connected();
    send(fd.get(), post(kPing).data(), post(kPing).size(), MSG_NOSIGNAL);  // may be closed already
    answer = hear(fd);
  }
  EXPECT_EQ(status(answer), 200);
}

TEST_F(McpHttp, ASessionIsKnownUntilItIsEnded) {
  const std::string id = session();
  EXPECT_EQ(status(ask(post(kPing, id))), 200);
  EXPECT_EQ(status(ask(post(kPing, "Mcp-Session-Id: 00000000000000000000000000000000\r\n"))), 404);
  const std::string end = "DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + id + "\r\n";
  EXPECT_EQ(status(ask(end)), 204);
  EXPECT_EQ(status(ask(end)), 404);
  EXPECT_EQ(status(ask(post(kPing, id))), 404);
}

TEST_F(McpHttp, OneConnectionServesManyRequests) {
  const UniqueFd fd = connected();
  std::string text = post(kPing);
  text.erase(text.find("Connection: close\r\n"), 19);
  say(fd, text + text);  // at once
  const std::string answer = hear(fd, "\"id\":1,");
  EXPECT_EQ(status(answer), 200);
  say(fd, post(kPing));
  std::string rest = answer + hear(fd);
  std::size_t count = 0;
  for (std::size_t at = 0; (at = rest.find("HTTP/1.1 200", at)) != std::string::npos; ++at) ++count;
  EXPECT_EQ(count, 3U);
}

TEST_F(McpHttp, ALegacyCancellationIsAPostOfItsOwn) {
  const std::string id = session();
  const UniqueFd fd = connected();
  say(fd, post(kWait, id));
  const std::string begun = hear(fd, "begun");
  EXPECT_NE(begun.find("text/event-stream"), std::string::npos) << begun;
  const std::string cancel = R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}})";
  EXPECT_EQ(status(ask(post(cancel))), 202);  // of nobody's session: reaches nothing
  EXPECT_FALSE(server_.drain(Deadline::after(20ms)));
  EXPECT_EQ(status(ask(post(cancel, id))), 202);
  EXPECT_EQ(stopped_.get_future().wait_for(120s), std::future_status::ready);
  EXPECT_EQ(hear(fd).find("\"result\""), std::string::npos);
}

TEST_F(McpHttp, AModernCancellationIsTheEndOfTheConnection) {
  UniqueFd fd = connected();
  say(fd, post(modern("tools/call", "\"name\":\"wait\","), modern_fields("tools/call") + "Mcp-Name: wait\r\n"));
  EXPECT_NE(hear(fd, "begun"), "");
  fd.reset();
  EXPECT_EQ(stopped_.get_future().wait_for(120s), std::future_status::ready);
}

TEST_F(McpHttp, WhatDoesNotExistIs404ForTheModernAnd200ForTheLegacy) {
  EXPECT_EQ(status(ask(post(modern("nothing"), modern_fields("nothing")))), 404);
  EXPECT_EQ(status(ask(post(R"({"jsonrpc":"2.0","id":1,"method":"nothing"})"))), 200);
  EXPECT_EQ(status(ask(post(modern("tools/list"), modern_fields("tools/list")))), 200);
  EXPECT_EQ(status(ask(post(modern("tools/list"), modern_fields("tools/call")))), 400);
}

TEST_F(McpHttp, AServerThatIsToldToEndEndsItsCalls) {
  const UniqueFd fd = connected();
  say(fd, post(kWait));
  EXPECT_NE(hear(fd, "begun"), "");
  server_.stop();
  EXPECT_EQ(stopped_.get_future().wait_for(120s), std::future_status::ready);
}

TEST(McpHttpListen, AddressesAreReadAndNamesAreNot) {
  EXPECT_TRUE(listen_http("0")->loopback);
  EXPECT_TRUE(listen_http("localhost:0")->loopback);
  EXPECT_FALSE(listen_http("0.0.0.0:0")->loopback);
  for (const char* text : {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:70000", "example.org:80", "127.0.0.1:1x"})
    EXPECT_FALSE(listen_http(text)) << text;
}

}  // namespace
}  // namespace cove::mcp
