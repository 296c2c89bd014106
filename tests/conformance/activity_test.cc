// F: case 82, alone, because it takes its time.

#include "conformance/fixture.h"

namespace cove::conformance {
namespace {

// Who calls counts the time, not the place: in one of them it is the usual ten seconds, in the others two.
TEST_F(Contract, Case082_TheActivityCallback) {
  const CommandIo usual;
  const auto every = testing_helpers::backend_name() == "local" ? usual.activity_every : 2000ms;
  std::vector<Clock::time_point> told{Clock::now()};
  const auto note = [&] {
    told.push_back(Clock::now());
    throw std::runtime_error("of no consequence");
  };
  // Output all the time: what is told depends on the clock, not on silence.
  const std::string turns = std::to_string(every * 9 / 2 / 500ms);
  const auto ran =
      sandbox().collect(command("for ((i = 0; i < " + turns + "; ++i)); do echo $i; sleep .5; done; exit 3"),
                        {.activity = note, .activity_every = every});
  ASSERT_TRUE(ran) << ran.error().text();
  EXPECT_EQ(ran->outcome.exit_code, 3);
  EXPECT_GE(told.size() - 1, 3U);
  // A call may come late, and the next one then comes sooner after it; but none before its time, and no two at once.
  for (std::size_t i = 1; i < told.size(); ++i) {
    EXPECT_GE(told[i] - told[0], every * i) << i;
    EXPECT_GE(told[i] - told[i - 1], every / 2) << i;
  }
}

}  // namespace
}  // namespace cove::conformance
