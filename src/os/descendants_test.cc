#include "os/descendants.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>

#include "os/child.h"

namespace cove::os {
namespace {

using namespace std::chrono_literals;

// A shell that has made its family and said so on descriptor 3.
struct Family {
  Child shell;
  UniqueFd ready;
};

Family make_family(const std::string& script) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  UniqueFd in(ends[0]), out(ends[1]);
  ExecSpec spec;
  spec.argv = {"/bin/sh", "-c", script};
  spec.env = {"PATH=/usr/bin:/bin"};
  spec.fds = {{out.get(), 3}};
  auto child = Child::spawn(spec);
  EXPECT_TRUE(child) << child.error().message;
  out.reset();
  char byte = 0;
  EXPECT_EQ(read(in.get(), &byte, 1), 1);
  return {std::move(*child), std::move(in)};
}

TEST(Descendants, ChildrenAndGrandchildrenAreFound) {
  const Family family = make_family("(sleep 100 & sleep 100 & echo x >&3; wait) & wait");
  const auto below = descendants(family.shell.pid());
  EXPECT_EQ(below.size(), 3U);
  for (const pid_t pid : below) kill(pid, SIGKILL);
}

TEST(Descendants, AProcessWithoutChildrenHasNone) {
  const Family family = make_family("echo x >&3; exec sleep 100");
  EXPECT_TRUE(descendants(family.shell.pid()).empty());
}

TEST(Descendants, KillReachesWhatCalledSetsidAndIgnoresTerm) {
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  Family family = make_family("trap '' TERM; setsid sh -c 'trap \"\" TERM; echo x >&3; sleep 100; sleep 100' & exit 0");
  // The pipe closes when the last holder of its write end is dead: that is the event to wait for.
  const auto killed = kill_descendants(getpid(), Deadline::after(60s));
  ASSERT_TRUE(killed) << killed.error().message;
  pollfd wait{family.ready.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&wait, 1, 0), 1);
  EXPECT_TRUE((wait.revents & POLLHUP) != 0);
  EXPECT_TRUE(descendants(getpid()).empty());
  prctl(PR_SET_CHILD_SUBREAPER, 0);
}

TEST(Descendants, KillOfNothingIsFine) {
  const Family family = make_family("echo x >&3; exec sleep 100");
  EXPECT_TRUE(kill_descendants(family.shell.pid(), Deadline::after(60s)));
  EXPECT_TRUE(family.shell.running());
}

}  // namespace
}  // namespace cove::os
