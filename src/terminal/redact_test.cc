#include "terminal/redact.h"

#include <gtest/gtest.h>

#include <ctime>

namespace cove::terminal {
namespace {

std::string masked(const std::string& text) { return redact(text, {}); }

TEST(Redact, MasksKeysOfTheUsualServices) {
  EXPECT_EQ(masked("key sk-abcdEFGH1234abcdEFGH1234 end"), "key sk-*** end");
  EXPECT_EQ(masked("ghp_0123456789abcdefghijABCDEFGHIJ012345"), "ghp_***");
  EXPECT_EQ(masked("AKIAIOSFODNN7EXAMPLE"), "AKIA***");
  EXPECT_EQ(masked("\"xoxb-1234567890-abcdef\""), "\"xoxb-***\"");
  EXPECT_EQ(masked("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-DEF_123!"), "eyJ***!");
}

TEST(Redact, LeavesWordsAlone) {
  for (const std::string text : {"task-abcdefghijklmnopqrstuvwxyz", "sk-learn-something-quite-long-without",
                                 "risk-assessment-2024-something-long", "hf_short", "a AKIA b", "eyJ.eyJ.x",
                                 "see http://host:80/a@b", "the bearer of news"}) {
    EXPECT_EQ(masked(text), text);
  }
}

TEST(Redact, MasksHeadersUrlsAndPrivateKeys) {
  EXPECT_EQ(masked("Authorization: Bearer abc.def-ghi_jkl=="), "Authorization: Bearer ***");
  EXPECT_EQ(masked("https://user:pass@host/x postgres://a:b@c"), "https://user:***@host/x postgres://a:***@c");
  EXPECT_EQ(masked("x -----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY----- y"),
            "x -----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY----- y");
  EXPECT_EQ(masked("abc\n-----END PRIVATE KEY-----\nrest"), "***-----END PRIVATE KEY-----\nrest");
  EXPECT_EQ(masked("a\n-----BEGIN PRIVATE KEY-----\nabc"), "a\n-----BEGIN PRIVATE KEY-----***");
  EXPECT_EQ(masked("-----BEGIN CERTIFICATE-----\nabc\n"), "-----BEGIN CERTIFICATE-----\nabc\n");
}

TEST(Redact, MasksTheEnvironmentsOwnSecretsWherever) {
  const auto values =
      secret_values({{"OPENAI_API_KEY", "not-in-any-shape"}, {"PATH", "/usr/bin:/bin"}, {"MY_TOKEN", "short"}});
  ASSERT_EQ(values.size(), 1U);
  EXPECT_EQ(redact("xnot-in-any-shapey not-in-any-shape", {.values = values}), "x***y ***");
}

TEST(Redact, MasksAssignmentsWhereVariablesAreListed) {
  const std::string list = "HOME=/root\nMY_API_KEY=abc\nexport DB_PASSWORD='x y'\ndeclare -x A=\"1\"\nEMPTY_TOKEN=\n";
  EXPECT_EQ(redact(list, {.values = {}, .assignments = true}),
            "HOME=/root\nMY_API_KEY=***\nexport DB_PASSWORD=***\ndeclare -x A=\"1\"\nEMPTY_TOKEN=\n");
  EXPECT_EQ(redact(list, {}), list);
  EXPECT_TRUE(lists_variables("printenv | sort"));
  EXPECT_TRUE(lists_variables("cat .env"));
  EXPECT_FALSE(lists_variables("make environment"));
}

// In processor time, of which other work on the machine takes none.
double cost_of(int lines) {
  std::string text;
  for (const char* line : {"-----BEGIN x\n", "-----END PRIVATE KEY-----\n", "://a:", "eyJaaaaaaaaaa."})
    for (int i = 0; i < lines; ++i) text += line;
  const auto begin = std::clock();
  redact(text + "-----BEGIN PRIVATE KEY-----", {.values = {"secret-value"}, .assignments = true});
  return static_cast<double>(std::clock() - begin);
}

TEST(Redact, IsLinearInHostileText) {
  const double few = cost_of(6'000), many = cost_of(48'000);
  EXPECT_LT(many, 24 * few) << "eight times as much: 64 times as long if it were quadratic";
}

}  // namespace
}  // namespace cove::terminal
