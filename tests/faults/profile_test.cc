// A start-up file that never ends: the terminal comes up without it, after the limit of 30 s.

#include <fstream>

#include "faults/fixture.h"

namespace cove::faults {
namespace {

TEST_F(Faults, AProfileThatSleepsForeverDelaysTheFirstCommandByItsLimitAndNoMore) {
  SandboxSpec spec = make_spec();
  const std::string directory = home().make_directory("sleepy");
  std::ofstream(directory + "/.bash_profile") << "export BEFORE=1; echo BANNER; sleep 1000; export AFTER=1\n";
  set_env(spec, "HOME", directory);
  Sandbox sandbox = create(spec);
  const auto first = sandbox.sh("echo hi", within(45s));
  ASSERT_TRUE(first) << first.error().text();
  EXPECT_EQ(first->output, "hi\n");
  const auto begin = Clock::now();
  const auto second = sandbox.sh("echo $AFTER on", within(20s));
  ASSERT_TRUE(second) << second.error().text();
  EXPECT_EQ(second->output, "on\n");
  EXPECT_LT(Seconds(Clock::now() - begin), limit(3s));
}

}  // namespace
}  // namespace cove::faults
