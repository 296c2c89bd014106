#include "backend/microvm/kernel.h"

#include <gtest/gtest.h>

#include <random>

namespace cove::microvm {
namespace {

void put(std::string& bytes, std::size_t at, std::uint64_t value, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) bytes[at + i] = static_cast<char>(value >> (8 * i));
}

std::string number(std::uint64_t value, std::size_t size) {
  std::string bytes(size, '\0');
  put(bytes, 0, value, size);
  return bytes;
}

const std::string kElf = std::string("\x7f", 1) + "ELF";

// 4 literals "\x7fELF", a copy of 4 bytes from 4 back, and "end" as the last literals.
std::string lz4_stream() {
  const std::string block = std::string("\x40", 1) + kElf + number(4, 2) + std::string("\x30", 1) + "end";
  return number(0x184c2102, 4) + number(block.size(), 4) + block;
}

std::string bzimage(const std::string& payload) {
  std::string file(0x400, '\0');
  put(file, 0x1f1, 1, 1);  // one sector beside the first: the payload's offset counts from 0x400
  file.replace(0x202, 4, "HdrS");
  put(file, 0x206, 0x20f, 2);
  put(file, 0x20e, 0x100, 2);
  file.replace(0x300, 13, "6.1.0-1-cloud");
  put(file, 0x248, 0, 4);
  put(file, 0x24c, payload.size(), 4);
  return file + payload;
}

TEST(Kernel, WhatIsPackedComesOut) {
  const std::string file = bzimage(lz4_stream() + number(11, 4));
  EXPECT_EQ(kernel_version(file), "6.1.0-1-cloud");
  const auto kernel = unpack_kernel(file);
  ASSERT_TRUE(kernel) << kernel.error().text();
  EXPECT_EQ(*kernel, kElf + kElf + "end");
}

TEST(Kernel, AnUncompressedOneIsTakenAsItIs) { EXPECT_EQ(unpack_kernel(kElf + "rest").value_or(""), kElf + "rest"); }

TEST(Kernel, WhatIsNoKernelIsRefused) {
  for (const std::string& file : {std::string(), std::string("#!/bin/sh\n"), std::string(5000, '\0')})
    EXPECT_EQ(unpack_kernel(file).error().code, Errc::invalid);
}

TEST(Kernel, AnotherCompressionIsNamedAsSuch) {
  const auto refused = unpack_kernel(bzimage(std::string("\x1f\x8b\x08", 3) + std::string(100, 'x')));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::unsupported);
  EXPECT_NE(refused.error().message.find("lz4"), std::string::npos);
}

TEST(Kernel, APayloadThatIsNotInTheFileIsRefused) {
  std::string file = bzimage(lz4_stream() + number(11, 4));
  put(file, 0x24c, 0xffffffff, 4);
  EXPECT_FALSE(unpack_kernel(file));
  put(file, 0x24c, 12, 4);
  put(file, 0x248, 0xfffffff0, 4);
  EXPECT_FALSE(unpack_kernel(file));
}

TEST(Kernel, ASizeThatIsNotWhatComesOutIsRefused) {
  EXPECT_FALSE(unpack_kernel(bzimage(lz4_stream() + number(12, 4))));
}

TEST(Kernel, CopiesFromBeforeTheBeginningAreRefused) {
  const std::string block = std::string("\x10", 1) + "a" + number(2, 2) + std::string("\x10", 1) + "b";
  EXPECT_FALSE(unpack_lz4(number(0x184c2102, 4) + number(block.size(), 4) + block, 1000));
}

TEST(Kernel, ALengthThatNeverEndsIsRefused) {
  const std::string block = std::string("\xf0", 1) + std::string(100000, '\xff');
  EXPECT_FALSE(unpack_lz4(number(0x184c2102, 4) + number(block.size(), 4) + block, 1000));
}

TEST(Kernel, MoreThanIsAllowedIsRefused) {
  EXPECT_TRUE(unpack_lz4(lz4_stream(), 11));
  EXPECT_FALSE(unpack_lz4(lz4_stream(), 10));
}

TEST(Kernel, DamagedFilesAreRefusedOrUnpackedButNeverReadPastTheirEnd) {
  const std::string good = bzimage(lz4_stream() + number(11, 4));
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string file = good.substr(0, good.size() - random() % 30);
    for (int k = 0; k < 3; ++k) file[0x1f0 + random() % (file.size() - 0x1f0)] = static_cast<char>(random());
    [[maybe_unused]] const auto unpacked = unpack_kernel(std::string(file));
    [[maybe_unused]] const auto version = kernel_version(file);
  }
}

}  // namespace
}  // namespace cove::microvm
