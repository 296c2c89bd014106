#include "terminal/notices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace cove::terminal {
namespace {

using namespace std::chrono_literals;
using Verdict = WatchLimit::Verdict;

TEST(WatchLimit, AMatchEverySecondIsToldOncePerFifteenAndThenNoMore) {
  WatchLimit limit;
  const Clock::time_point begin{1h};
  int told = 0, last = 0;
  for (int second = 0; second < 300; ++second) {
    const Verdict verdict = limit.hit(begin + std::chrono::seconds(second));
    told += verdict == Verdict::tell;
    last += verdict == Verdict::last;
    if (verdict == Verdict::tell) {
      EXPECT_EQ(second % 15, 0);
    }
  }
  EXPECT_EQ(told, 3);
  EXPECT_EQ(last, 1);
}

TEST(WatchLimit, RareMatchesAreToldEightTimes) {
  WatchLimit limit;
  std::vector<Verdict> verdicts;
  for (int minute = 0; minute < 10; ++minute)
    verdicts.push_back(limit.hit(Clock::time_point(std::chrono::minutes(minute + 1))));
  EXPECT_EQ(std::count(verdicts.begin(), verdicts.end(), Verdict::tell), 7);
  EXPECT_EQ(verdicts[7], Verdict::last);
  EXPECT_EQ(verdicts[9], Verdict::silent);
}

TEST(WatchBreaker, TooManyOfAllMakeAPause) {
  WatchBreaker breaker;
  const Clock::time_point now{1h};
  for (std::size_t i = 0; i < WatchBreaker::kMost; ++i) EXPECT_TRUE(breaker.allows(now));
  EXPECT_FALSE(breaker.allows(now));
  EXPECT_FALSE(breaker.allows(now + 29s));
  EXPECT_TRUE(breaker.allows(now + 31s));
}

TEST(LineWatch, LooksAtWholeLinesInWhateverPieces) {
  LineWatch watch({"READY", "ERROR"});
  EXPECT_TRUE(watch.add("server REA").empty());
  const auto matches = watch.add("DY on 80\nnothing\nan ERROR\n");
  ASSERT_EQ(matches.size(), 2U);
  EXPECT_EQ(matches[0].line, "server READY on 80");
  EXPECT_EQ(matches[1].pattern, "ERROR");
  EXPECT_TRUE(watch.add(std::string(10'000, 'x')).empty());
}

TEST(Notices, AreTakenOnceAndBounded) {
  Notices notices;
  for (int i = 0; i < 1100; ++i) notices.add(nlohmann::json{{"n", i}});
  const auto all = notices.take(Deadline::after(0s));
  EXPECT_EQ(all.size(), Notices::kMost);
  EXPECT_EQ(all[0]->at("n"), 100);
  EXPECT_TRUE(notices.take(Deadline::after(0s)).empty());
}

}  // namespace
}  // namespace cove::terminal
