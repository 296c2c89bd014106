#include "mcp/http_guard.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace cove::mcp {
namespace {

using Fields = std::multimap<std::string, std::string>;

int sender(Fields fields, const HttpRules& rules = {}) {
  HttpRequest request;
  request.fields = std::move(fields);
  return check_sender(request, rules).status;
}

TEST(McpHttpGuard, OnlyOurOwnHostIsServed) {
  EXPECT_EQ(sender({{"host", "localhost:80"}}), 200);
  EXPECT_EQ(sender({{"host", "LocalHost"}}), 200);
  EXPECT_EQ(sender({{"host", "127.0.0.1:8931"}}), 200);
  EXPECT_EQ(sender({{"host", "[::1]:8931"}}), 200);
  for (const char* host : {"evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "localhost:80@evil", "",
                           "localhost:123456", "[::1", "::1", "127.0.0.2"})
    EXPECT_EQ(sender({{"host", host}}), 403) << host;
  EXPECT_EQ(sender({}), 403);
  EXPECT_EQ(sender({{"host", "localhost"}, {"host", "localhost"}}), 403);
  EXPECT_EQ(sender({{"host", "box.lan:1"}}, {.hosts = {"box.lan"}}), 200);
}

TEST(McpHttpGuard, OnlyOurOwnOriginIsServed) {
  const auto origin = [](const char* text) { return sender({{"host", "localhost"}, {"origin", text}}); };
  EXPECT_EQ(origin("http://localhost:3000"), 200);
  EXPECT_EQ(origin("https://127.0.0.1"), 200);
  for (const char* text : {"null", "", "http://evil.example", "http://localhost.evil.example", "localhost",
                           "file://localhost", "http://localhost@evil.example"})
    EXPECT_EQ(origin(text), 403) << text;
  EXPECT_EQ(sender({{"host", "localhost"}, {"origin", "https://a.b"}}, {.origins = {"https://a.b"}}), 200);
  EXPECT_EQ(sender({{"host", "localhost"}, {"origin", "http://localhost"}, {"origin", "http://evil"}}), 403);
}

TEST(McpHttpGuard, ATokenThatIsAskedForIsNeeded) {
  const HttpRules rules{.token = "0123456789abcdef"};
  const auto given = [&](const char* text) { return sender({{"host", "localhost"}, {"authorization", text}}, rules); };
  EXPECT_EQ(given("Bearer 0123456789abcdef"), 200);
  EXPECT_EQ(given("bearer 0123456789abcdef"), 200);
  for (const char* text : {"Bearer 0123456789abcdeF", "Bearer 0123456789abcde", "Bearer 0123456789abcdef0", "Bearer ",
                           "Bearer", "0123456789abcdef", "Basic 0123456789abcdef", ""})
    EXPECT_EQ(given(text), 401) << text;
  EXPECT_EQ(sender({{"host", "localhost"}}, rules), 401);
  EXPECT_EQ(
      sender({{"host", "localhost"}, {"authorization", "Bearer 0123456789abcdef"}, {"authorization", "x"}}, rules),
      401);
}

TEST(McpHttpGuard, APostIsJsonForWhoTakesJsonOrEvents) {
  const auto post = [](Fields fields) {
    HttpRequest request;
    request.fields = std::move(fields);
    return check_post(request).status;
  };
  EXPECT_EQ(post({{"content-type", "application/json; charset=utf-8"}, {"accept", "application/json"}}), 200);
  EXPECT_EQ(post({{"content-type", "application/json"}, {"accept", "text/event-stream"}}), 200);
  EXPECT_EQ(post({{"content-type", "application/json"}}), 200);
  EXPECT_EQ(post({{"content-type", "text/plain"}}), 415);
  EXPECT_EQ(post({}), 415);
  EXPECT_EQ(post({{"content-type", "application/json"}, {"accept", "text/html"}}), 406);
}

Message call_of(const char* tool) {
  return {.era = Era::modern,
          .id = Json(1),
          .method = "tools/call",
          .params = Json{{"name", tool}},
          .version = "2026-07-28"};
}

TEST(McpHttpGuard, ModernHeadersSayWhatTheBodySays) {
  const auto code = [](Fields fields, const Message& message) {
    HttpRequest request;
    request.fields = std::move(fields);
    const auto refusal = check_headers(request, message);
    return refusal ? refusal->code : 0;
  };
  const Fields good{{"mcp-protocol-version", "2026-07-28"}, {"mcp-method", "tools/call"}, {"mcp-name", "run"}};
  EXPECT_EQ(code(good, call_of("run")), 0);
  EXPECT_EQ(code(good, call_of("other")), kHeaderMismatch);
  for (const auto& [name, value] : good) {
    Fields fields = good;
    fields.erase(name);
    EXPECT_EQ(code(fields, call_of("run")), kHeaderMismatch) << name;
    fields.emplace(name, value);
    fields.emplace(name, value);
    EXPECT_EQ(code(fields, call_of("run")), kHeaderMismatch) << name << " twice";
  }
  const Message legacy{.id = Json(1), .method = "ping", .params = Json::object()};
  EXPECT_EQ(code({}, legacy), 0);
  EXPECT_EQ(code({{"mcp-protocol-version", "2025-06-18"}}, legacy), 0);
  EXPECT_EQ(code({{"mcp-protocol-version", "nonsense"}}, legacy), kUnsupportedVersion);
  EXPECT_EQ(code({{"mcp-protocol-version", "2026-07-28"}}, legacy), kInvalidParams);
}

}  // namespace
}  // namespace cove::mcp
