#include "base/deadline.h"

#include <gtest/gtest.h>

namespace cove {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::seconds;

TEST(Deadline, NeverIsNeverPassedAndPollsForever) {
  EXPECT_FALSE(Deadline::never().passed());
  EXPECT_EQ(Deadline::never().poll_timeout(), -1);
}

TEST(Deadline, APassedOneDoesNotWait) {
  EXPECT_TRUE(Deadline::after(seconds(0)).passed());
  EXPECT_TRUE(Deadline::after(-seconds(5)).passed());
  EXPECT_EQ(Deadline::after(-seconds(5)).poll_timeout(), 0);
}

TEST(Deadline, AWaitIsRoundedUpSoThatItNeverEndsEarly) {
  const int timeout = Deadline::after(seconds(10) + microseconds(1)).poll_timeout();
  EXPECT_GT(timeout, 9'000);
  EXPECT_LE(timeout, 10'001);
}

TEST(Deadline, AVeryLongWaitFitsIntoPollAndTheClock) {
  EXPECT_EQ(Deadline::after(hours(24 * 365)).poll_timeout(), 1'000'000'000);
  EXPECT_TRUE(Deadline::after(Clock::duration::max()).is_never());
}

TEST(Deadline, TheEarlierOfTwoWinsAndNeverIsTheLatest) {
  const Deadline soon = Deadline::after(seconds(1)), late = Deadline::after(seconds(9));
  EXPECT_EQ(earlier(soon, late).at(), soon.at());
  EXPECT_EQ(earlier(Deadline::never(), late).at(), late.at());
}

}  // namespace
}  // namespace cove
