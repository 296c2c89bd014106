#include "image/http.h"

#include <gtest/gtest.h>

#include "image/test_server.h"

namespace {

using namespace std::chrono_literals;
using cove::Errc;
using cove::image::Http;
using cove::image::HttpAnswer;
using cove::image::HttpRequest;
using cove::image::testing::answer_with;
using cove::image::testing::TestServer;

bool sent_authorization(const TestServer& server) {
  for (const std::string& request : server.requests()) {
    if (request.find("Authorization:") != std::string::npos) return true;
  }
  return false;
}

TEST(Http, GivesStatusHeadersAndBody) {
  const TestServer server([](const std::string&) { return answer_with("404 Not Found", "X-Some: a\r\n", "words"); });
  const auto answer = Http({}).send({.url = server.url("/x")}, {});
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->status, 404);
  EXPECT_EQ(answer->header("x-some"), "a");
  EXPECT_EQ(answer->body, "words");
}

TEST(Http, CredentialsFollowARedirectToTheSameOriginOnly) {
  const TestServer other([](const std::string&) { return answer_with("200 OK", "", "elsewhere"); });
  const TestServer server([&](const std::string& request) {
    if (request.starts_with("GET /same")) return answer_with("307 Temporary Redirect", "Location: /there\r\n", "");
    if (request.starts_with("GET /there")) return answer_with("200 OK", "", "here");
    return answer_with("307 Temporary Redirect", "Location: " + other.url("/blob") + "\r\n", "");
  });
  Http http({});
  const auto same = http.send({.url = server.url("/same"), .authorization = "Bearer secret"}, {});
  ASSERT_TRUE(same) << same.error().text();
  EXPECT_EQ(same->body, "here");
  EXPECT_NE(server.requests().back().find("Authorization: Bearer secret"), std::string::npos);
  // Another port of the same host is another origin.
  const auto away = http.send({.url = server.url("/away"), .authorization = "Bearer secret"}, {});
  ASSERT_TRUE(away) << away.error().text();
  EXPECT_EQ(away->body, "elsewhere");
  EXPECT_FALSE(sent_authorization(other));
}

TEST(Http, ARedirectToAnUnlistedPlainHostOrToAFileIsRefused) {
  for (const char* target : {"http://registry.invalid/x", "file:///etc/passwd", "http://u:p@127.0.0.1/"}) {
    const TestServer server(
        [&](const std::string&) { return answer_with("302 Found", "Location: " + std::string(target) + "\r\n", ""); });
    EXPECT_FALSE(Http({}).send({.url = server.url("/")}, {})) << target;
  }
}

TEST(Http, RedirectsHaveAnEnd) {
  const TestServer server([&](const std::string&) { return answer_with("302 Found", "Location: /again\r\n", ""); });
  const auto answer = Http({}).send({.url = server.url("/")}, {});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::protocol);
  EXPECT_EQ(server.requests().size(), 6U);
}

TEST(Http, ABodyOverTheLimitIsRefused) {
  const TestServer server([](const std::string&) { return answer_with("200 OK", "", std::string(5000, 'x')); });
  const auto answer = Http({}).send({.url = server.url("/"), .most_bytes = 4999}, {});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::protocol);
  EXPECT_TRUE(Http({}).send({.url = server.url("/"), .most_bytes = 5000}, {}));
}

TEST(Http, AHeaderOverTheLimitIsRefused) {
  std::string headers;
  for (int i = 0; i < 100; ++i) headers += "X-" + std::to_string(i) + ": " + std::string(1000, 'x') + "\r\n";
  const TestServer server([&](const std::string&) { return answer_with("200 OK", headers, ""); });
  const auto answer = Http({}).send({.url = server.url("/")}, {});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::protocol);
}

TEST(Http, TheSinkMayEndTheTransferWithItsOwnError) {
  const TestServer server([](const std::string&) { return answer_with("200 OK", "", "abc"); });
  const auto answer = Http({}).send({.url = server.url("/")}, {}, [](const HttpAnswer&, std::string_view) {
    return cove::Result<void>(cove::fail(Errc::conflict, "enough"));
  });
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::conflict);
}

TEST(Http, AShortBodyIsADisconnection) {
  const TestServer server([](const std::string&) { return "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc"; });
  const auto answer = Http({}).send({.url = server.url("/")}, {});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::disconnected);
}

TEST(Http, StopAndDeadlineEndATransferThatHangs) {
  std::stop_source asked;
  std::mutex hangs;
  hangs.lock();
  {
    const TestServer server([&](const std::string&) {
      asked.request_stop();
      const std::lock_guard until_released(hangs);
      return std::string();
    });
    const auto stopped = Http({}).send({.url = server.url("/")}, asked.get_token());
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().code, Errc::cancelled);
    const auto late = Http({}).send({.url = server.url("/"), .deadline = cove::Deadline::after(100ms)}, {});
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, Errc::timeout);
    hangs.unlock();
  }
}

TEST(Http, PlainHttpToAnUnlistedHostIsNotEvenTried) {
  const auto answer = Http({}).send({.url = "http://registry.invalid/v2/"}, {});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::denied);
  EXPECT_NE(answer.error().message.find("COVE_INSECURE_REGISTRIES"), std::string::npos);
}

TEST(Http, AHeaderWithALineBreakIsNotSent) {
  EXPECT_FALSE(Http({}).send({.url = "http://127.0.0.1:9/", .authorization = "Bearer a\r\nX: y"}, {}));
}

}  // namespace
