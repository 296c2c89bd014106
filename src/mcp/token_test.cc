#include "mcp/token.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace cove::mcp {
namespace {

class McpToken : public testing::Test {
 protected:
  McpToken() { close(mkstemp(path_.data())); }
  ~McpToken() override {
    unlink(path_.c_str());
    unsetenv("COVE_MCP_TOKEN");
  }
  void write(const std::string& text) const { std::ofstream(path_) << text; }
  std::string path_ = "/tmp/cove-mcp-token-XXXXXX";
};

TEST_F(McpToken, ComesFromAPrivateFileWithoutItsLineEnd) {
  write("0123456789abcdef\n");
  const auto token = find_token(path_);
  ASSERT_TRUE(token);
  EXPECT_EQ(*token, "0123456789abcdef");
}

TEST_F(McpToken, AFileThatOthersCanReadIsRefused) {
  write("0123456789abcdef\n");
  chmod(path_.c_str(), 0640);
  ASSERT_FALSE(find_token(path_));
  EXPECT_EQ(find_token(path_).error().code, Errc::denied);
  EXPECT_FALSE(find_token(path_ + ".none"));
}

TEST_F(McpToken, ShortOrStrangeOnesAreRefused) {
  for (const char* text : {"", "short", "0123456789 abcdef", "0123456789abcdef\nsecond"}) {
    write(text);
    EXPECT_FALSE(find_token(path_)) << text;
  }
}

TEST_F(McpToken, TheVariableIsTakenOutOfTheEnvironment) {
  setenv("COVE_MCP_TOKEN", "fedcba9876543210", 1);
  const auto token = find_token("");
  ASSERT_TRUE(token);
  EXPECT_EQ(*token, "fedcba9876543210");
  EXPECT_EQ(std::getenv("COVE_MCP_TOKEN"), nullptr);
  EXPECT_EQ(*find_token(""), "");
}

TEST_F(McpToken, OnlyTheSameIsTheSame) {
  EXPECT_TRUE(same_secret("abc", "abc"));
  EXPECT_FALSE(same_secret("abd", "abc"));
  EXPECT_FALSE(same_secret("ab", "abc"));
  EXPECT_FALSE(same_secret("abcabc", "abc"));
  EXPECT_FALSE(same_secret("", ""));
}

}  // namespace
}  // namespace cove::mcp
