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
  const auto begin = Clock::now();
  const auto first = sandbox.sh("echo hi", soon());
  const auto took = Clock::now() - begin;
  ASSERT_TRUE(first) << first.error().text();
  EXPECT_EQ(first->output, "hi\n");
  const auto again = Clock::now();
  const auto second = sandbox.sh("echo $AFTER on", soon());
  ASSERT_TRUE(second) << second.error().text();
  EXPECT_EQ(second->output, "on\n");
  EXPECT_LT(Clock::now() - again, took / 2) << "it waited for the file once more";
}

}  // namespace
}  // namespace cove::faults
