#include "mcp/http_request.h"

#include <gtest/gtest.h>

#include "mcp/message.h"

namespace cove::mcp {
namespace {

const std::string kPost = "POST /mcp HTTP/1.1\r\nHost: a\r\nX-Y:  z \r\nContent-Length: 5\r\n\r\nhello";

// As a connection does.
Result<void> feed(HttpParser& parser, std::string& left, const std::string& more) {
  left += more;
  for (std::size_t used = 1; used > 0; left.erase(0, used)) {
    COVE_TRY(used, parser.put(left));
  }
  return {};
}

TEST(McpHttpRequest, IsTheSameHoweverItIsCut) {
  for (std::size_t piece = 1; piece <= kPost.size(); ++piece) {
    HttpParser parser;
    std::string left;
    for (std::size_t at = 0; at < kPost.size(); at += piece) ASSERT_TRUE(feed(parser, left, kPost.substr(at, piece)));
    ASSERT_TRUE(parser.done() && left.empty()) << piece;
    const HttpRequest request = parser.take();
    EXPECT_EQ(request.method + request.target + request.body, "POST/mcphello");
    EXPECT_EQ(request.field("x-y"), "z");
    EXPECT_TRUE(request.keep_alive);
  }
}

TEST(McpHttpRequest, TheHeadIsReadBeforeTheBodyAndWhatFollowsIsLeft) {
  HttpParser parser;
  const auto used = parser.put(kPost);
  ASSERT_TRUE(used);
  EXPECT_EQ(*used, kPost.size() - 5);
  EXPECT_TRUE(parser.head_done() && !parser.done());
  EXPECT_EQ(parser.head().field("host"), "a");
  std::string left = "hello";
  ASSERT_TRUE(feed(parser, left, "GET / HTTP/1.1\r\n"));
  EXPECT_TRUE(parser.done());
  EXPECT_EQ(left, "GET / HTTP/1.1\r\n");
  EXPECT_EQ(*parser.put(left), 0U);
}

TEST(McpHttpRequest, LimitsAreKept) {
  HttpParser head;
  EXPECT_FALSE(head.put("GET / HTTP/1.1\r\nX: " + std::string(20'000, 'x')));
  HttpParser body;
  const auto refused = body.put("POST / HTTP/1.1\r\nContent-Length: " + std::to_string(kMostMessage + 1) + "\r\n\r\nx");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::busy);
}

TEST(McpHttpRequest, NonsenseAndSmugglingAreRefused) {
  for (const char* text : {"\x16\x03\x01\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET /\r\n\r\n",
                           "POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
                           "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "GET / HTTP/1.1\r\nBad Name: x\r\n\r\n",
                           "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"}) {
    HttpParser parser;
    EXPECT_FALSE(parser.put(text)) << text;
  }
}

TEST(McpHttpRequest, AFieldThatIsGivenTwiceIsNone) {
  HttpParser parser;
  ASSERT_TRUE(parser.put("GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n"));
  const HttpRequest request = parser.take();
  EXPECT_EQ(request.count("host"), 2U);
  EXPECT_EQ(request.field("host"), std::nullopt);
}

}  // namespace
}  // namespace cove::mcp
