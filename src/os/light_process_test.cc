#include "os/light_process.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace cove::os {
namespace {

struct Seen {
  std::atomic<int> tries{0};
  pid_t parent = 0, self = 0;
  int left_pipe = -1;
};

// Fails over and over, in a memory where somebody else has an errno.
int fail_often(void* argument) {
  Seen& seen = *static_cast<Seen*>(argument);
  seen.parent = getppid();
  seen.self = getpid();
  for (int i = 0; i < 100'000; ++i) {
    if (close(-1) == 0 || errno != EBADF) return 1;
    ++seen.tries;
  }
  close(seen.left_pipe);
  return 7;
}

TEST(LightProcess, RunsBesideItsParentWithAnErrnoOfItsOwn) {
  Seen seen;
  seen.left_pipe = dup(0);
  auto process = LightProcess::start(fail_often, &seen);
  ASSERT_TRUE(process) << process.error().text();
  int status = 0, disturbed = 0;
  while (waitpid(process->pid(), &status, WNOHANG) == 0) {
    errno = 0;
    if (chdir("") == 0 || errno != ENOENT) ++disturbed;
  }
  EXPECT_EQ(disturbed, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(close(seen.left_pipe), 0) << "descriptors are not shared";
  if (seen.self == 0) GTEST_SKIP() << "here it is a fork: nothing is shared";
  EXPECT_EQ(seen.parent, getpid());
  EXPECT_EQ(seen.self, process->pid());
  EXPECT_EQ(seen.tries, 100'000);
}

}  // namespace
}  // namespace cove::os
