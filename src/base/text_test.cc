#include "base/text.h"

#include <gtest/gtest.h>

#include <csignal>

namespace cove {
namespace {

using std::chrono::milliseconds;

TEST(Durations, HaveUnitsAndSecondsWithoutOne) {
  EXPECT_EQ(parse_duration("30").value(), milliseconds(30'000));
  EXPECT_EQ(parse_duration("30s").value(), milliseconds(30'000));
  EXPECT_EQ(parse_duration("5m").value(), milliseconds(300'000));
  EXPECT_EQ(parse_duration("2h").value(), milliseconds(7'200'000));
  EXPECT_EQ(parse_duration("500ms").value(), milliseconds(500));
  EXPECT_EQ(parse_duration("1.5").value(), milliseconds(1500));
}

TEST(Durations, RefuseNothingNegativesAndWords) {
  for (const char* bad :
       {"", "0", "0s", "-1", "-5s", "5x", "s", "5 s", "1e3", "inf", "nan", "0.0001ms", "1.2.3", "99999999999999999h"}) {
    const auto parsed = parse_duration(bad);
    ASSERT_FALSE(parsed) << bad;
    EXPECT_EQ(parsed.error().code, Errc::invalid);
    EXPECT_NE(parsed.error().message.find("500ms"), std::string::npos) << "the message must say what is understood";
  }
}

TEST(Sizes, AreBytesOrPowersOf1024) {
  EXPECT_EQ(parse_size("4096").value(), 4096U);
  EXPECT_EQ(parse_size("512m").value(), std::uint64_t{512} << 20);
  EXPECT_EQ(parse_size("2g").value(), std::uint64_t{2} << 30);
  EXPECT_EQ(parse_size("2G").value(), std::uint64_t{2} << 30);
  EXPECT_EQ(parse_size("1.5k").value(), 1536U);
  EXPECT_EQ(parse_size("64MiB").value(), std::uint64_t{64} << 20);
}

TEST(Sizes, RefuseNothingNegativesAndWords) {
  for (const char* bad : {"", "0", "-1", "m", "2x", "2mm", "99999999999t"}) EXPECT_FALSE(parse_size(bad)) << bad;
}

TEST(Counts, AreWholeAndPositive) {
  EXPECT_EQ(parse_count("64").value(), 64U);
  for (const char* bad : {"", "0", "-1", "1.5", "64x", "99999999999999999999"}) EXPECT_FALSE(parse_count(bad)) << bad;
}

TEST(Signals, HaveNamesWithAndWithoutSigAndNumbers) {
  EXPECT_EQ(parse_signal("TERM").value(), SIGTERM);
  EXPECT_EQ(parse_signal("SIGTERM").value(), SIGTERM);
  EXPECT_EQ(parse_signal("sigkill").value(), SIGKILL);
  EXPECT_EQ(parse_signal("9").value(), SIGKILL);
  for (const char* bad : {"", "0", "-9", "65", "SIGNOPE", "1000"}) EXPECT_FALSE(parse_signal(bad)) << bad;
}

TEST(SecondsText, HasNoNeedlessDigits) {
  EXPECT_EQ(seconds_text(milliseconds(1000)), "1s");
  EXPECT_EQ(seconds_text(milliseconds(500)), "0.5s");
  EXPECT_EQ(seconds_text(milliseconds(90'000)), "90s");
  EXPECT_EQ(seconds_text(milliseconds(100'000)), "100s");
}

TEST(Utf8, KeepsWhatIsValid) {
  for (const std::string text :
       {"", "plain", "gr\xC3\xBC\xC3\x9F", "\xE2\x82\xAC", "\xF0\x9F\x90\xA1", "\xEF\xBF\xBD"}) {
    EXPECT_EQ(to_utf8(text), text);
  }
  EXPECT_EQ(to_utf8(std::string("a\0b", 3)), std::string("a\0b", 3));
}

TEST(Utf8, ReplacesEveryMaximalBrokenPartOnce) {
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(to_utf8("\xE2\x82"), r) << "contract case 54";
  EXPECT_EQ(to_utf8("\xE2\x82"
                    "a"),
            r + "a");
  EXPECT_EQ(to_utf8("\xF0\x9F\x90"), r);
  EXPECT_EQ(to_utf8("\x80\x80"), r + r) << "continuation bytes on their own begin nothing";
  EXPECT_EQ(to_utf8("\xFF\xFE"), r + r);
  EXPECT_EQ(to_utf8("\xC0\xAF"), r + r) << "overlong";
  EXPECT_EQ(to_utf8("\xE0\x80\x80"), r + r + r) << "overlong";
  EXPECT_EQ(to_utf8("\xED\xA0\x80"), r + r + r) << "a surrogate";
  EXPECT_EQ(to_utf8("\xF4\x90\x80\x80"), r + r + r + r) << "past the last character";
}

TEST(JsonQuote, EscapesControlsQuotesAndBrokenBytes) {
  EXPECT_EQ(json_quote("a\"b\\c\n\t\r"), R"("a\"b\\c\n\t\r")");
  EXPECT_EQ(json_quote(std::string_view("\0\x1b\x7f", 3)), R"("\u0000\u001b\u007f")");
  EXPECT_EQ(json_quote("\xE2\x82"), "\"\xEF\xBF\xBD\"");
}

TEST(Words, AreJoinedBySpacesAsSshDoes) {
  const std::vector<std::string> words{"ls", "-la", "a b"};
  EXPECT_EQ(join_words(words), "ls -la a b");
  EXPECT_EQ(join_words({}), "");
}

}  // namespace
}  // namespace cove
