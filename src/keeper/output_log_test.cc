#include "keeper/output_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

namespace cove::keeper {
namespace {

using proto::Stream;

constexpr std::uint64_t kNobody = ~std::uint64_t{0};
constexpr std::size_t kMiB = std::size_t{1} << 20;

std::string file_path() { return "/tmp/cove-output-log-test-" + std::to_string(getpid()); }

UniqueFd temporary_file(OutputLog::FileUse use) {
  const std::string path = file_path();
  if (use == OutputLog::FileUse::remove) {
    unlink(path.c_str());
    return UniqueFd();
  }
  return UniqueFd(
      open(path.c_str(), O_RDWR | O_CLOEXEC | (use == OutputLog::FileUse::make ? O_CREAT | O_TRUNC : 0), 0600));
}

// Bytes whose value tells their offset.
std::string numbered(std::uint64_t from, std::size_t bytes) {
  std::string text(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>((from + i) * 2654435761U >> 13);
  return text;
}

void append_numbered(OutputLog& log, std::size_t bytes, std::uint64_t keep_from = kNobody) {
  while (bytes > 0) {
    const std::size_t n = std::min<std::size_t>(bytes, 50'000);
    log.append(Stream::out, numbered(log.end(), n), keep_from);
    bytes -= n;
  }
}

struct Seen {
  std::string bytes;
  std::vector<std::uint64_t> jumps;  // offsets that were not kept before
};

Seen read_from(const OutputLog& log, std::uint64_t at) {
  Seen seen;
  std::string scratch;
  while (const auto piece = log.read(at, scratch)) {
    if (piece->offset != at) seen.jumps.push_back(piece->offset);
    EXPECT_EQ(piece->bytes, numbered(piece->offset, piece->bytes.size()));
    seen.bytes += piece->bytes;
    at = piece->offset + piece->bytes.size();
  }
  return seen;
}

TEST(OutputLog, StreamsStayApartInTrueOrder) {
  OutputLog log(kMiB, temporary_file);
  log.append(Stream::out, "a", kNobody);
  log.append(Stream::out, "b", kNobody);
  log.append(Stream::err, "cd", kNobody);
  log.append(Stream::out, "e", kNobody);
  std::string scratch;
  EXPECT_EQ(log.read(0, scratch)->bytes, "ab");
  EXPECT_EQ(log.read(1, scratch)->bytes, "b");
  EXPECT_EQ(log.read(2, scratch)->stream, Stream::err);
  EXPECT_EQ(log.read(3, scratch)->bytes, "d");
  EXPECT_EQ(log.read(4, scratch)->bytes, "e");
  EXPECT_FALSE(log.read(5, scratch));
}

TEST(OutputLog, AShortLogTouchesNoFile) {
  OutputLog log(64 * kMiB, [](OutputLog::FileUse) {
    ADD_FAILURE() << "a file was asked for";
    return UniqueFd();
  });
  append_numbered(log, OutputLog::kMemoryBytes);
  EXPECT_EQ(read_from(log, 0).bytes.size(), OutputLog::kMemoryBytes);
  EXPECT_FALSE(log.truncated());
}

TEST(OutputLog, WhatDoesNotFitInMemoryIsReadFromTheFile) {
  OutputLog log(64 * kMiB, temporary_file);
  append_numbered(log, 5 * kMiB);
  EXPECT_LE(log.memory_bytes(), OutputLog::kMemoryBytes + OutputLog::kBlockBytes);
  const Seen seen = read_from(log, 0);
  EXPECT_EQ(seen.bytes.size(), 5 * kMiB);
  EXPECT_TRUE(seen.jumps.empty());
  EXPECT_EQ(read_from(log, 1'234'567).bytes, numbered(1'234'567, 5 * kMiB - 1'234'567));
  EXPECT_FALSE(log.truncated());
}

TEST(OutputLog, PastTheCapTheFirstBytesAndTheNewestWindowAreKept) {
  OutputLog log(2 * kMiB, temporary_file);
  append_numbered(log, 20 * kMiB);
  EXPECT_TRUE(log.truncated());
  EXPECT_EQ(log.end(), 20 * kMiB);
  EXPECT_LE(log.memory_bytes(), OutputLog::kWindowBytes + OutputLog::kBlockBytes);
  const Seen seen = read_from(log, 0);
  ASSERT_EQ(seen.jumps.size(), 1U);
  EXPECT_LE(seen.jumps[0], 19 * kMiB);
  EXPECT_EQ(seen.bytes.size(), 2 * kMiB + (20 * kMiB - seen.jumps[0]));
}

TEST(OutputLog, ACapBelowTheMemoryLimitIsExact) {
  OutputLog log(1000, temporary_file);
  append_numbered(log, 3 * kMiB);
  const Seen seen = read_from(log, 0);
  ASSERT_EQ(seen.jumps.size(), 1U);
  EXPECT_EQ(seen.bytes.size() - (3 * kMiB - seen.jumps[0]), 1000U);
}

TEST(OutputLog, WhatALiveReaderStillNeedsIsNotDropped) {
  OutputLog log(0, temporary_file);
  append_numbered(log, 3 * kMiB, 0);
  EXPECT_EQ(read_from(log, 0).bytes.size(), 3 * kMiB);
  append_numbered(log, 1, 3 * kMiB);
  EXPECT_LE(log.memory_bytes(), OutputLog::kWindowBytes + OutputLog::kBlockBytes);
}

TEST(OutputLog, AFullDiskTruncatesTheLogAndNothingElse) {
  OutputLog log(64 * kMiB, [](OutputLog::FileUse) { return UniqueFd(open("/dev/full", O_RDWR | O_CLOEXEC)); });
  append_numbered(log, 5 * kMiB);
  EXPECT_TRUE(log.truncated());
  EXPECT_EQ(log.end(), 5 * kMiB);
  const Seen seen = read_from(log, 4 * kMiB + OutputLog::kBlockBytes);
  EXPECT_EQ(seen.bytes.size(), kMiB - OutputLog::kBlockBytes);
  EXPECT_TRUE(seen.jumps.empty());
}

TEST(OutputLog, AlternatingStreamsSurviveTheFileByteByByte) {
  OutputLog log(64 * kMiB, temporary_file);
  const std::size_t total = 600'000;
  for (std::size_t i = 0; i < total; ++i)
    log.append(i % 2 == 0 ? Stream::out : Stream::err, i % 2 == 0 ? "o" : "e", kNobody);
  std::string scratch;
  for (const std::size_t at : {std::size_t{0}, std::size_t{4095}, std::size_t{4096}, std::size_t{123'457}, total - 1}) {
    const auto piece = log.read(at, scratch);
    ASSERT_TRUE(piece) << at;
    EXPECT_EQ(piece->offset, at);
    EXPECT_EQ(piece->stream, at % 2 == 0 ? Stream::out : Stream::err);
    EXPECT_EQ(piece->bytes, at % 2 == 0 ? "o" : "e");
  }
}

TEST(OutputLog, ADroppedLogKeepsItsLengthOnly) {
  OutputLog log(64 * kMiB, temporary_file);
  append_numbered(log, kMiB);
  log.drop();
  std::string scratch;
  EXPECT_FALSE(log.read(0, scratch));
  EXPECT_EQ(log.end(), kMiB);
  EXPECT_TRUE(log.truncated());
}

TEST(OutputLog, ASettledLogHoldsNoMemoryPastItsCapAndNoDescriptorAndIsReadAsBefore) {
  OutputLog log(2 * kMiB, temporary_file);
  append_numbered(log, 9 * kMiB);
  const Seen before = read_from(log, 0);
  log.settle();
  EXPECT_EQ(log.memory_bytes(), 0U);
  const Seen after = read_from(log, 0);
  EXPECT_EQ(after.bytes, before.bytes);
  EXPECT_EQ(after.jumps, before.jumps);
}

TEST(OutputLog, TheFileGoesWithTheLog) {
  {
    OutputLog log(64 * kMiB, temporary_file);
    append_numbered(log, kMiB);
    EXPECT_EQ(access(file_path().c_str(), F_OK), 0);
  }
  EXPECT_NE(access(file_path().c_str(), F_OK), 0);
}

TEST(OutputLog, SettlingKeepsTheBytesAndTheRoomToGrow) {
  OutputLog log(kMiB, temporary_file);
  log.append(Stream::out, "hello", kNobody);
  log.settle();
  log.append(Stream::out, " world", kNobody);
  std::string scratch;
  EXPECT_EQ(log.read(0, scratch)->bytes, "hello world");
}

}  // namespace
}  // namespace cove::keeper
