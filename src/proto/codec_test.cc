#include "proto/codec.h"

#include <gtest/gtest.h>

#include "proto/client.h"
#include "proto/guest.h"

namespace cove::proto {
namespace {

struct Everything {
  bool flag = false;
  Stream stream = Stream::out;
  std::uint16_t small = 0;
  std::int32_t negative = 0;
  std::uint64_t large = 0;
  std::string text;
  std::vector<std::string> list;
  Resize nested;
  template <class Ar, class Self>
  static void fields(Ar& ar, Self& s) {
    ar(s.flag, s.stream, s.small, s.negative, s.large, s.text, s.list, s.nested);
  }
};

Everything example() {
  return {.flag = true,
          .stream = Stream::err,
          .small = 0xfedc,
          .negative = -2,
          .large = 0x0123456789abcdef,
          .text = std::string("a\0b", 3),
          .list = {"", "xy"},
          .nested = {.rows = 1, .columns = 2}};
}

TEST(Codec, ReadsBackWhatWasWritten) {
  const auto copy = decode<Everything>(encode(example()));
  ASSERT_TRUE(copy);
  EXPECT_TRUE(copy->flag);
  EXPECT_EQ(copy->stream, Stream::err);
  EXPECT_EQ(copy->small, 0xfedc);
  EXPECT_EQ(copy->negative, -2);
  EXPECT_EQ(copy->large, 0x0123456789abcdef);
  EXPECT_EQ(copy->text, std::string("a\0b", 3));
  EXPECT_EQ(copy->list, (std::vector<std::string>{"", "xy"}));
  EXPECT_EQ(copy->nested.columns, 2);
}

TEST(Codec, TheBytesAreLittleEndianAndCountsAreFourBytes) {
  EXPECT_EQ(encode(Resize{.rows = 0x0102, .columns = 3}), std::string("\x02\x01\x03\x00", 4));
  EXPECT_EQ(encode(Text{"hi"}), std::string("\x02\x00\x00\x00hi", 6));
}

TEST(Codec, EveryShorterPayloadIsAnError) {
  const std::string bytes = encode(example());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto result = decode<Everything>(std::string_view(bytes).substr(0, size));
    ASSERT_FALSE(result) << size << " bytes";
    EXPECT_EQ(result.error().code, Errc::protocol);
  }
}

TEST(Codec, TrailingBytesAreAnError) { EXPECT_FALSE(decode<Everything>(encode(example()) + '\0')); }

TEST(Codec, ABoolIsZeroOrOne) {
  EXPECT_TRUE(decode<StopRequest>(std::string("\x01\x00\x00\x00\x00", 5)));
  EXPECT_FALSE(decode<StopRequest>(std::string("\x02\x00\x00\x00\x00", 5)));
}

TEST(Codec, AnEnumEndsAtItsLastValue) {
  std::string bytes = encode(OutputHeader{.offset = 1, .stream = Stream::err});
  EXPECT_EQ(bytes.size(), kOutputHeaderBytes);
  EXPECT_TRUE(decode<OutputHeader>(bytes));
  bytes.back() = 2;
  EXPECT_FALSE(decode<OutputHeader>(bytes));
}

TEST(Codec, ACountIsOnlyAClaim) {
  // Four billion entries, and a text of four billion bytes: refused without the memory for them.
  EXPECT_FALSE(decode<FileList>(std::string("\xff\xff\xff\xff", 4)));
  EXPECT_FALSE(decode<Text>(std::string("\xff\xff\xff\xffhi", 6)));
}

TEST(Codec, ACommandArrivesWithAllItsFields) {
  Start start{
      .kind = CommandKind::argv, .argv = {"printf", "%s\n", "a b"}, .env = {"K=V"}, .cwd = "~/x", .user = "nobody"};
  start.file = {.op = FileOp::move, .path = "from", .target = "to", .offset = 1, .limit = 2, .mode = 0600};
  start.with_stdin = start.pty = true;
  const auto run = decode<proto::Run>(encode(proto::Run{.id = "job", .start = start, .timeout_ms = 5}));
  ASSERT_TRUE(run);
  EXPECT_EQ(encode(run->start), encode(start));
  EXPECT_EQ(run->start.argv, start.argv);
  EXPECT_EQ(run->start.file.target, "to");
  EXPECT_EQ(run->timeout_ms, 5U);
}

}  // namespace
}  // namespace cove::proto
