#include "proto/frame.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace cove::proto {
namespace {

struct Received {
  int type;
  std::uint32_t id;
  std::string payload;
  bool operator==(const Received&) const = default;
};

std::string written(std::uint8_t type, std::uint32_t id, std::string_view payload) {
  ByteQueue out;
  append_message(out, type, id, payload);
  return std::string(out.view());
}

// A frame of any shape, also a wrong one.
struct Frame {
  std::uint8_t type = 1, flags = 0;
  std::uint32_t id = 0;
  std::string payload;
  std::string bytes() const {
    std::string all = written(type, id, payload);
    all[5] = static_cast<char>(flags);
    return all;
  }
};

// Feeds the bytes in pieces of at most `piece` and collects every message; stops at the first error.
Result<std::vector<Received>> read_all(MessageReader& reader, std::string_view bytes, std::size_t piece = SIZE_MAX) {
  std::vector<Received> all;
  while (!bytes.empty()) {
    const auto space = reader.space();
    const std::size_t size = std::min({piece, space.size(), bytes.size()});
    std::memcpy(space.data(), bytes.data(), size);
    reader.filled(size);
    bytes.remove_prefix(size);
    while (true) {
      COVE_TRY(const auto message, reader.next());
      if (!message) break;
      all.push_back({message->type, message->id, std::string(message->payload)});
    }
  }
  return all;
}

Result<std::vector<Received>> read_all(std::string_view bytes, std::size_t piece = SIZE_MAX) {
  MessageReader reader;
  return read_all(reader, bytes, piece);
}

TEST(Frame, ArrivesWholeHoweverTheStreamIsCut) {
  const std::string bytes =
      written(3, 7, "hello") + written(4, 0xffffffff, "") + written(255, 1, std::string(300, 'x'));
  const std::vector<Received> expected{{3, 7, "hello"}, {4, 0xffffffff, ""}, {255, 1, std::string(300, 'x')}};
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    EXPECT_EQ(read_all(bytes, piece).value(), expected) << "in pieces of " << piece;
  }
}

TEST(Frame, HasTheLayoutOfTheHeader) {
  EXPECT_EQ(written(9, 0x01020304, "ab"), std::string("\x02\0\0\0\x09\0\0\0\x04\x03\x02\x01"
                                                      "ab",
                                                      14));
}

TEST(Frame, BulkDataIsFilledInPlaceAndMayTurnOutShorter) {
  ByteQueue out;
  append_message(out, 1, 1, "before");
  char* room = begin_frame(out, 1000);
  std::memcpy(room, "short", 5);
  commit_frame(out, 2, 8, 5);
  EXPECT_EQ(read_all(out.view()).value(), (std::vector<Received>{{1, 1, "before"}, {2, 8, "short"}}));
}

TEST(Frame, AMessageLongerThanAFrameIsSplitAndPutTogether) {
  for (const std::size_t size : {kMaxPayload - 1, kMaxPayload, kMaxPayload + 1, 3 * kMaxPayload, 3 * kMaxPayload + 5}) {
    std::string payload(size, 'a');
    payload.back() = 'z';
    const std::string bytes = written(5, 6, payload);
    EXPECT_EQ(bytes.size(), size + kHeaderBytes * ((size + kMaxPayload - 1) / kMaxPayload));
    EXPECT_EQ(read_all(bytes, 50'000).value(), (std::vector<Received>{{5, 6, payload}}));
  }
}

TEST(Frame, MessagesOfDifferentIdsMayBeInterleaved) {
  const std::string bytes = Frame{.flags = kMore, .id = 1, .payload = "on"}.bytes() +
                            Frame{.type = 2, .flags = kMore, .id = 2, .payload = "tw"}.bytes() +
                            Frame{.type = 9, .id = 3, .payload = "!"}.bytes() + Frame{.id = 1, .payload = "e"}.bytes() +
                            Frame{.type = 2, .id = 2, .payload = "o"}.bytes();
  EXPECT_EQ(read_all(bytes, 7).value(), (std::vector<Received>{{9, 3, "!"}, {1, 1, "one"}, {2, 2, "two"}}));
}

TEST(Frame, ALastPieceMayBeEmpty) {
  const std::string bytes = Frame{.flags = kMore, .payload = "all"}.bytes() + Frame{}.bytes();
  EXPECT_EQ(read_all(bytes).value(), (std::vector<Received>{{1, 0, "all"}}));
}

void expect_protocol_error(std::string_view bytes, std::string_view words) {
  const auto result = read_all(bytes);
  ASSERT_FALSE(result) << words;
  EXPECT_EQ(result.error().code, Errc::protocol);
  EXPECT_NE(result.error().message.find(words), std::string::npos) << result.error().message;
}

TEST(Frame, ALengthAboveTheLimitIsRefusedBeforeItsBytesCome) {
  std::string header = written(1, 1, "").substr(0, kHeaderBytes);
  header[2] = 4;  // 256 KiB exactly: waits for them
  EXPECT_TRUE(read_all(header));
  header[0] = 1;
  expect_protocol_error(header, "longer than the limit");
}

TEST(Frame, UnknownFlagsAreRefused) {
  expect_protocol_error(Frame{.flags = 2}.bytes(), "unknown flags");
  for (const std::size_t reserved : {6U, 7U}) {
    std::string bytes = Frame{}.bytes();
    bytes[reserved] = 1;
    expect_protocol_error(bytes, "unknown flags");
  }
}

TEST(Frame, AMessageKeepsItsTypeToTheEnd) {
  expect_protocol_error(Frame{.type = 1, .flags = kMore, .payload = "a"}.bytes() + Frame{.type = 2}.bytes(),
                        "changes its type");
}

TEST(Frame, AnEmptyPieceThatPromisesMoreIsRefused) {
  expect_protocol_error(Frame{.flags = kMore}.bytes(), "empty piece");
}

TEST(Frame, IncompleteMessagesAreCounted) {
  std::string bytes;
  for (std::uint32_t id = 0; id < kMaxPartials; ++id) bytes += Frame{.flags = kMore, .id = id, .payload = "x"}.bytes();
  EXPECT_TRUE(read_all(bytes));
  expect_protocol_error(bytes + Frame{.flags = kMore, .id = kMaxPartials, .payload = "x"}.bytes(), "incomplete");
}

TEST(Frame, AMessageEndsAtTheMessageLimit) {
  const std::string piece = Frame{.flags = kMore, .payload = std::string(kMaxPayload, 'x')}.bytes();
  MessageReader reader;
  for (std::size_t size = 0; size < kMaxMessage; size += kMaxPayload) ASSERT_TRUE(read_all(reader, piece));
  EXPECT_EQ(read_all(reader, Frame{.payload = "x"}.bytes()).error().code, Errc::protocol);
}

TEST(Frame, AWholeMessageGivesItsShareOfTheLimitBack) {
  const std::string message = written(1, 1, std::string(kMaxMessage / 2, 'x'));
  MessageReader reader;
  for (int i = 0; i < 4; ++i) ASSERT_EQ(read_all(reader, message).value().size(), 1U) << "message " << i;
}

}  // namespace
}  // namespace cove::proto
