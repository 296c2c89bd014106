#include "os/exec.h"

#include <gtest/gtest.h>

namespace cove::os {
namespace {

TEST(FindEnv, FindsTheWholeNameOnly) {
  const std::vector<std::string> env{"PATHS=no", "PATH=/bin:/usr/bin", "EMPTY=", "A=b=c", "PATH=second"};
  EXPECT_EQ(find_env(env, "PATH"), "/bin:/usr/bin");
  EXPECT_EQ(find_env(env, "A"), "b=c");
  EXPECT_EQ(find_env(env, "EMPTY"), "");
  EXPECT_EQ(find_env(env, "PAT"), "");
}

}  // namespace
}  // namespace cove::os
