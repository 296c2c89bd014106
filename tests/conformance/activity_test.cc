// F: case 82, alone, because it takes its time.

#include "conformance/fixture.h"

namespace cove::conformance {
namespace {

TEST_F(Contract, Case082_TheActivityCallback) {
  std::vector<Clock::time_point> told{Clock::now()};
  const auto note = [&] {
    told.push_back(Clock::now());
    throw std::runtime_error("of no consequence");
  };
  // Output all the time: what is told depends on the clock, not on silence.
  const auto ran =
      sandbox().collect(command("for i in {1..45}; do echo $i; sleep 1; done; exit 3"), {.activity = note});
  ASSERT_TRUE(ran) << ran.error().text();
  EXPECT_EQ(ran->outcome.exit_code, 3);
  EXPECT_GE(told.size() - 1, 3U);
  EXPECT_LE(told.size() - 1, 5U);
  for (std::size_t i = 1; i < told.size(); ++i) EXPECT_GE(told[i] - told[i - 1], 9900ms) << i;
}

}  // namespace
}  // namespace cove::conformance
