#include "mcp/bounded.h"

#include <gtest/gtest.h>

namespace cove::mcp {
namespace {

TEST(McpBounded, WhatFitsIsWhole) {
  Bounded text(10);
  text.add("01234");
  text.add("56789");
  EXPECT_EQ(text.text(), "0123456789");
  EXPECT_FALSE(text.cut());
}

TEST(McpBounded, OfMoreTheBeginningAndTheEndAreKept) {
  for (const std::size_t piece : {1U, 3U, 7U, 1000U}) {
    Bounded text(10);
    const std::string all = "abcd" + std::string(500, 'x') + "uvwxyz";
    for (std::size_t at = 0; at < all.size(); at += piece) text.add(std::string_view(all).substr(at, piece));
    EXPECT_EQ(text.text(), "abcd\n[... 500 bytes left out ...]\nuvwxyz") << piece;
    EXPECT_TRUE(text.cut());
    EXPECT_EQ(text.total(), 510U);
  }
}

TEST(McpBounded, CharactersAreNotCutInTwo) {
  Bounded text(10);
  text.add("abc\xC3\xA4" + std::string(50, 'x') +
           "\xC3\xA4"
           "vwxyz");
  EXPECT_EQ(text.text(), "abc\n[... 52 bytes left out ...]\nvwxyz");
}

TEST(McpBounded, TheTailOfACharacterIsSeen) {
  EXPECT_EQ(incomplete_tail(""), 0U);
  EXPECT_EQ(incomplete_tail("a"), 0U);
  EXPECT_EQ(incomplete_tail("a\xC3"), 1U);
  EXPECT_EQ(incomplete_tail("\xC3\xA4"), 0U);
  EXPECT_EQ(incomplete_tail("\xF0\x9F\x98"), 3U);
  EXPECT_EQ(incomplete_tail("\x80\x80\x80\x80"), 0U);
}

}  // namespace
}  // namespace cove::mcp
