#include "terminal/bounded.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "terminal/plain_text.h"

namespace cove::terminal {
namespace {

TEST(Bounded, ShortTextIsWhole) {
  const auto bounded = bound({.text = "abc"}, 10, "[x]");
  EXPECT_EQ(bounded.text, "abc[x]");
  EXPECT_EQ(bounded.total, 3U);
  EXPECT_FALSE(bounded.truncated);
}

TEST(Bounded, KeepsHeadAndTailWithAnExactNotice) {
  const std::string text = std::string(30'000, 'a') + std::string(30'000, 'b');
  const auto bounded = bound({.text = text}, 50'000);
  EXPECT_EQ(bounded.text.size(), 50'000U);
  EXPECT_EQ(bounded.text, std::string(19'970, 'a') +
                              "\n\n... [OUTPUT TRUNCATED - 10,073 chars omitted out of 60,000 total] ...\n\n" +
                              std::string(29'957, 'b'));
  EXPECT_EQ(bounded.total, 60'000U);
}

TEST(Bounded, TheNoticeIsExactForEveryLength) {
  for (std::size_t size = 1000; size < 1300; ++size) {
    const auto bounded = bound({.text = std::string(size, 'x')}, 1000, "\n[Command timed out after 1s]");
    EXPECT_LE(bounded.text.size(), 1000U + 1);
    if (!bounded.truncated) continue;
    const auto kept = static_cast<std::size_t>(std::count(bounded.text.begin(), bounded.text.end(), 'x'));
    EXPECT_NE(bounded.text.find(with_separators(size - kept) + " chars omitted out of " + with_separators(size)),
              std::string::npos)
        << size;
    EXPECT_TRUE(bounded.text.ends_with("[Command timed out after 1s]"));
  }
}

TEST(Bounded, CountsAndCutsWholeCharacters) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "\xE2\x82\xAC";
  const auto bounded = bound({.text = text}, 1000);
  EXPECT_EQ(count_chars(bounded.text), 1000U);
  EXPECT_EQ(plain_text(bounded.text), bounded.text);
}

TEST(Bounded, WhatIsMissingInTheMiddleCounts) {
  const auto bounded =
      bound({.text = std::string(5000, 'a'), .tail = std::string(5000, 'b'), .missing = 1'000'000}, 1000);
  EXPECT_NE(bounded.text.find("out of 1,010,000 total"), std::string::npos);
  EXPECT_TRUE(bounded.text.starts_with("aaa"));
  EXPECT_TRUE(bounded.text.ends_with("bbb"));
}

}  // namespace
}  // namespace cove::terminal
