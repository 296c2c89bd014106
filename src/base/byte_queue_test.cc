#include "base/byte_queue.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace cove {
namespace {

TEST(ByteQueue, GivesBackWhatWasPutInInOrder) {
  ByteQueue queue;
  EXPECT_TRUE(queue.empty());
  queue.append("hello ");
  queue.append("");
  queue.append("world");
  EXPECT_EQ(queue.view(), "hello world");
  queue.consume(6);
  EXPECT_EQ(queue.view(), "world");
  queue.consume(5);
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.view(), "");
}

TEST(ByteQueue, RoomBecomesContentOnlyByCommit) {
  ByteQueue queue;
  queue.append("a");
  char* room = queue.room(100);
  EXPECT_GE(queue.spare(), 100U);
  room[0] = 'b';
  EXPECT_EQ(queue.view(), "a");
  queue.commit(1);
  EXPECT_EQ(queue.view(), "ab");
}

TEST(ByteQueue, SaysTheSameAsAStringUnderAnyMixOfOperations) {
  std::minstd_rand random(7);
  ByteQueue queue;
  std::string expected;
  for (int i = 0; i < 20'000; ++i) {
    const std::string piece(random() % 300, static_cast<char>('a' + i % 26));
    queue.append(piece);
    expected += piece;
    const std::size_t gone = random() % (expected.size() + 1);
    queue.consume(gone);
    expected.erase(0, gone);
    ASSERT_EQ(queue.view(), expected) << "after step " << i;
  }
}

TEST(ByteQueue, AQueueThatIsNeverEmptyDoesNotGrow) {
  ByteQueue queue;
  queue.append("x");
  for (int i = 0; i < 100'000; ++i) {
    queue.append("0123456789");
    queue.consume(10);
  }
  EXPECT_EQ(queue.size(), 1U);
  EXPECT_LT(queue.spare(), 1000U);
}

TEST(ByteQueue, GivesLargeMemoryBackWhenEmptiedAndKeepsSmall) {
  ByteQueue queue;
  queue.append(std::string(1000, 'x'));
  queue.consume(1000);
  EXPECT_GE(queue.spare(), 1000U);
  queue.append(std::string(std::size_t{4} << 20, 'x'));
  queue.consume(queue.size());
  EXPECT_EQ(queue.spare(), 0U);
  queue.append("again");
  EXPECT_EQ(queue.view(), "again");
}

}  // namespace
}  // namespace cove
