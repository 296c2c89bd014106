#include "os/frozen.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <optional>

#include "os/child.h"
#include "os/descendants.h"
#include "os/proc_stat.h"

namespace cove::os {
namespace {

using namespace std::chrono_literals;

class FrozenProcesses : public testing::Test {
 protected:
  // A shell that writes its jobs' numbers to descriptor 3, a line each.
  void start(const std::string& script) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    in_ = UniqueFd(ends[0]);
    const UniqueFd out(ends[1]);
    ExecSpec spec;
    spec.argv = {"/bin/sh", "-c", script};
    spec.env = {"PATH=/usr/bin:/bin"};
    spec.fds = {{out.get(), 3}};
    auto child = Child::spawn(spec);
    ASSERT_TRUE(child) << child.error().message;
    shell_ = std::move(*child);
  }
  ~FrozenProcesses() override {
    if (shell_) [[maybe_unused]]
      const auto killed = kill_descendants(shell_->pid(), Deadline::after(60s));
  }
  pid_t next_pid() {
    std::string line;
    for (char c = 0; read(in_.get(), &c, 1) == 1 && c != '\n';) line += c;
    return std::atoi(line.c_str());
  }
  static bool becomes(const std::function<bool()>& what) {
    for (const Deadline deadline = Deadline::after(60s); !deadline.passed(); usleep(200)) {
      if (what()) return true;
    }
    return false;
  }

  UniqueFd in_;
  std::optional<Child> shell_;
};

TEST_F(FrozenProcesses, StandStillAndOnlyThoseThatRanGoOn) {
  start("sleep 999 & echo $! >&3; sleep 999 & echo $! >&3; kill -STOP $!; echo done >&3; wait");
  const pid_t runs = next_pid(), waits = next_pid();
  next_pid();
  ASSERT_TRUE(becomes([&] { return stat_of(waits).stopped(); }));
  {
    const Frozen frozen(shell_->pid(), 60s);
    EXPECT_TRUE(stat_of(runs).stopped());
    EXPECT_TRUE(stat_of(waits).stopped());
    EXPECT_FALSE(stat_of(shell_->pid()).stopped()) << "the root is not among them";
  }
  EXPECT_TRUE(becomes([&] { return !stat_of(runs).stopped(); }));
  EXPECT_TRUE(stat_of(waits).stopped());
}

TEST_F(FrozenProcesses, WhatForksAllTheTimeStandsStillToo) {
  start("(while :; do /bin/true; done) & (while :; do (/bin/true; /bin/true); done) & echo $! >&3; wait");
  next_pid();
  for (int i = 0; i < 20; ++i) {
    {
      const Frozen frozen(shell_->pid(), 60s);
      const auto before = descendants(shell_->pid());
      for (const pid_t pid : before) EXPECT_TRUE(stat_of(pid).stopped() || stat_of(pid).state == 'D') << i;
      EXPECT_EQ(descendants(shell_->pid()), before) << i;
    }
    ASSERT_TRUE(becomes([&] {
      for (const pid_t pid : descendants(shell_->pid())) {
        if (stat_of(pid).stopped()) return false;
      }
      return true;
    })) << i;
  }
}

TEST_F(FrozenProcesses, NothingBelowIsFine) {
  start("echo $$ >&3; exec sleep 999");
  next_pid();
  const Frozen frozen(shell_->pid());
  EXPECT_FALSE(stat_of(shell_->pid()).stopped());
}

}  // namespace
}  // namespace cove::os
