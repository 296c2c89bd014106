#include "terminal/plain_text.h"

#include <gtest/gtest.h>

#include <random>

namespace cove::terminal {
namespace {

using namespace std::string_literals;

TEST(PlainText, TakesEscapeSequencesOut) {
  EXPECT_EQ(plain_text("\x1B[1;31mred\x1B[0m"), "red");
  EXPECT_EQ(plain_text("a\x1B]0;title\x07"
                       "b\x1B]8;;http://x\x1B\\c"),
            "abc");
  EXPECT_EQ(plain_text("a\x1BPq#0;2;0;0;0\x1B\\b\x1B_x\x1B\\c\x1B^y\x1B\\d\x1BXz\x1B\\e"), "abcde");
  EXPECT_EQ(plain_text("a\x1B(Bb\x1B=c\x1B"
                       "7d\x1B#8e"),
            "abcde");
  EXPECT_EQ(plain_text("a\x1B[?25lb\x1B[2Jc\x1B[38:5:1mc"), "abcc");
}

TEST(PlainText, KnowsTheEightBitFormsInUtf8) {
  EXPECT_EQ(plain_text("a\xC2\x9B"
                       "31mb\xC2\x9D"
                       "0;t\x07"
                       "c\xC2\x90x\xC2\x9C"
                       "d"),
            "abcd");
  EXPECT_EQ(plain_text("\xC2\x85\xC2\xA0"), "\xC2\x85\xC2\xA0");
}

TEST(PlainText, KeepsOtherControlCharactersAndNul) { EXPECT_EQ(plain_text("a\r\n\t\b\x07\0z"s), "a\r\n\t\b\x07\0z"s); }

TEST(PlainText, BrokenUtf8BecomesReplacementCharacters) {
  EXPECT_EQ(plain_text("a\xFF"
                       "b"),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(plain_text("\xE2\x82"), "\xEF\xBF\xBD");
  EXPECT_EQ(plain_text("\xE2\x82x"), "\xEF\xBF\xBDx");
  EXPECT_EQ(plain_text("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(plain_text("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(plain_text("\xF0\x9F\x98\x80"), "\xF0\x9F\x98\x80");
}

TEST(PlainText, ASequenceCannotHideTheRest) {
  EXPECT_EQ(plain_text("a\x1B]0;never ended\nseen"), "a\nseen");
  EXPECT_EQ(plain_text("a\x1B[12\nseen"), "a\nseen");
  EXPECT_EQ(plain_text("a\x1B[12\xC3\xA9"), "a\xC3\xA9");
  EXPECT_EQ(plain_text("a\x1BPx\x18"
                       "seen"),
            "aseen");
  EXPECT_EQ(plain_text("a\x1BPx\x1B[1mseen"), "aseen");
  const std::string longest = "\x1BP" + std::string(2 * PlainText::kLongest, 'x') + "seen";
  EXPECT_TRUE(plain_text(longest).ends_with("seen"));
  EXPECT_LE(plain_text("\x1B[" + std::string(1000, '1')).size(), 1000U);
  EXPECT_GE(plain_text("\x1B[" + std::string(1000, '1')).size(), 700U);
}

// Whatever bytes come in whatever pieces: the text is the same, and valid.
TEST(PlainText, PiecesOfAnySizeGiveTheSameTextAndItIsValid) {
  std::mt19937 random(7);
  const std::string alphabet = "\x1B\x1B[]P\\;?01mABz\n\x07\x18\x9B\x9C\xC2\xC3\xE2\x82\xAC\xF0\x9F\xFF\x80 \0"s;
  for (int round = 0; round < 3000; ++round) {
    std::string bytes;
    for (std::size_t n = random() % 60; n > 0; --n) bytes += alphabet[random() % alphabet.size()];
    const std::string whole = plain_text(bytes);
    PlainText filter;
    std::string pieces;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t n = 1 + random() % 5;
      filter.add(std::string_view(bytes).substr(at, n), pieces);
      at += n;
    }
    filter.finish(pieces);
    ASSERT_EQ(pieces, whole);
    ASSERT_EQ(whole.find('\x1B'), std::string::npos);
    ASSERT_EQ(plain_text(whole), whole);
  }
}

TEST(CompletePrefix, LeavesHalfCharactersAndHalfSequencesForLater) {
  EXPECT_EQ(complete_prefix("abc"), 3U);
  EXPECT_EQ(complete_prefix("ab\xE2\x82"), 2U);
  EXPECT_EQ(complete_prefix("ab\xE2\x82\xAC"), 5U);
  EXPECT_EQ(complete_prefix("ab\x1B[1"), 2U);
  EXPECT_EQ(complete_prefix("ab\x1B[1m"), 6U);
  EXPECT_EQ(complete_prefix("ab\x1B"), 2U);
  EXPECT_EQ(complete_prefix("\x1B]0;" + std::string(1000, 'x')), 1004U);
  EXPECT_EQ(complete_prefix(""), 0U);
}

TEST(Trimmed, TakesBlanksFromBothEnds) {
  EXPECT_EQ(trimmed(" \n a b \t\r\n"), "a b");
  EXPECT_EQ(trimmed(" \n "), "");
}

}  // namespace
}  // namespace cove::terminal
