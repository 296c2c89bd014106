#include "base/unique_fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace cove {
namespace {

int open_something() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }
bool is_open(int fd) { return fcntl(fd, F_GETFD) >= 0; }

TEST(UniqueFd, ClosesWhatItOwnsAtTheEndOfItsScope) {
  const int fd = open_something();
  {
    const UniqueFd owner(fd);
    EXPECT_TRUE(owner);
    EXPECT_TRUE(is_open(fd));
  }
  EXPECT_FALSE(is_open(fd));
}

TEST(UniqueFd, MovingLeavesTheSourceEmpty) {
  UniqueFd first(open_something());
  const int fd = first.get();
  UniqueFd second(std::move(first));
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): that is the point
  EXPECT_EQ(second.get(), fd);
  EXPECT_TRUE(is_open(fd));
}

TEST(UniqueFd, AssigningClosesTheOldDescriptor) {
  UniqueFd owner(open_something());
  const int old = owner.get();
  UniqueFd other(open_something());
  const int kept = other.get();
  owner = std::move(other);
  EXPECT_FALSE(is_open(old));
  EXPECT_TRUE(is_open(kept));
}

TEST(UniqueFd, AssigningToItselfKeepsTheDescriptor) {
  UniqueFd owner(open_something());
  const int fd = owner.get();
  UniqueFd& same = owner;
  owner = std::move(same);
  EXPECT_EQ(owner.get(), fd);
  EXPECT_TRUE(is_open(fd));
}

TEST(UniqueFd, ReleaseGivesTheDescriptorAway) {
  UniqueFd owner(open_something());
  const int fd = owner.release();
  EXPECT_FALSE(owner);
  owner.reset();
  EXPECT_TRUE(is_open(fd));
  ::close(fd);
}

}  // namespace
}  // namespace cove
