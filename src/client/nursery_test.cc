#include "client/nursery.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "client/cove.h"
#include "client/surroundings.h"
#include "helpers/home.h"
#include "helpers/process.h"
#include "os/light_process.h"
#include "os/proc_stat.h"

namespace cove {
namespace {

using namespace testing_helpers;

std::string file_of(pid_t pid, const char* name) {
  return os::read_proc(("/proc/" + std::to_string(pid) + "/" + name).c_str());
}

// Keepers of sandboxes, or the nursery and those in it.
std::vector<pid_t> keepers(bool in_nursery) {
  auto all = processes_with_env("COVE_HOME=" + home().path());
  std::erase_if(all, [&](pid_t pid) {
    const std::string words = file_of(pid, "cmdline");
    return words.find("keeper") == std::string::npos || (words.find("nursery") != std::string::npos) != in_nursery;
  });
  return all;
}

Sandbox make(const SandboxSpec& spec = make_spec()) {
  auto made = Sandbox::create(spec);
  EXPECT_TRUE(made) << made.error().text();
  return std::move(*made);
}

SandboxSpec native_spec() {
  SandboxSpec spec = make_spec();
  spec.backend = "native";
  spec.cwd = "/workspace";
  set_env(spec, "HOME", "/root");
  return spec;
}

std::string said_by(Sandbox& sandbox, const std::string& script) { return sandbox.sh(script).value().output; }

class NurseryTest : public testing::Test {
 protected:
  void SetUp() override {
    home();
    Nursery::of_this_process().close();
    make_two();
    // A keeper that has said that its sandbox is gone is a process for a moment yet.
    ASSERT_TRUE(eventually([] { return keepers(false).empty(); })) << describe(keepers(false));
  }
  void TearDown() override {
    if (!eventually([] { return home().leftovers().empty(); })) FAIL() << home().leftovers();
  }
  static void make_two() {
    make();
    make();
  }
};

bool one_is_ahead() {
  // A first process that is ahead as well looks like its keeper.
  return eventually([] { return keepers(true).size() >= 2; });
}

TEST_F(NurseryTest, BelongsToWhoMakesASecondSandboxAndHasOneKeeperAhead) {
  ASSERT_TRUE(one_is_ahead());
  const auto before = keepers(true);
  Sandbox third = make();
  const auto now = keepers(false);
  ASSERT_EQ(now.size(), 1U) << describe(now);
  EXPECT_EQ(std::count(before.begin(), before.end(), now[0]), 1) << "the one that was ahead";
  EXPECT_EQ(said_by(third, "echo works"), "works\n");
  EXPECT_TRUE(one_is_ahead()) << "another one is";
}

TEST_F(NurseryTest, IsDoneWithoutWhenItIsKilledWithAllInIt) {
  ASSERT_TRUE(one_is_ahead());
  for (int round = 0; round < 3; ++round) {
    for (const pid_t pid : keepers(true)) kill(pid, SIGKILL);
    Sandbox one = make();
    EXPECT_EQ(said_by(one, "echo works"), "works\n");
  }
  // What the killed ones had made ahead goes with the next look around, seconds later.
  const std::string look = cove_program() + " ls >/dev/null";
  EXPECT_TRUE(eventually([&] { return std::system(look.c_str()) == 0 && home().leftovers().empty(); }));
}

TEST_F(NurseryTest, IsAnotherOneWhenTheEnvironmentIs) {
  ASSERT_TRUE(one_is_ahead());
  setenv("NURSERY_MARK", "seen", 1);
  const std::vector<Sandbox> made = [] {
    std::vector<Sandbox> all;
    for (int i = 0; i < 3; ++i) all.push_back(make());
    return all;
  }();
  unsetenv("NURSERY_MARK");
  ASSERT_EQ(keepers(false).size(), 3U);
  for (const pid_t pid : keepers(false))
    EXPECT_NE(file_of(pid, "environ").find("NURSERY_MARK=seen"), std::string::npos);
}

TEST_F(NurseryTest, IsTheProcesssOwnAlsoAfterAFork) {
  ASSERT_TRUE(one_is_ahead());
  const pid_t child = fork();
  if (child == 0) {
    bool good = true;
    for (int i = 0; i < 3; ++i) {
      auto one = Sandbox::create(make_spec());
      good = good && one && one->sh("echo works").value().output == "works\n";
    }
    _exit(good ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  Sandbox ours = make();
  EXPECT_EQ(said_by(ours, "echo works"), "works\n");
}

TEST(Surroundings, AreWhatAProgramInherits) {
  const std::string before = surroundings();
  EXPECT_EQ(surroundings(), before);
  const mode_t mask = umask(0);
  EXPECT_NE(umask(mask ^ 0011), mask);
  EXPECT_NE(surroundings(), before);
  umask(mask);
  EXPECT_EQ(surroundings(), before);
  setenv("SURROUNDINGS", "1", 1);
  EXPECT_NE(surroundings(), before);
  unsetenv("SURROUNDINGS");
  EXPECT_EQ(surroundings(), before);
}

// Its first process has a copy of the host's mounts on its way to a place of its own.
TEST_F(NurseryTest, LetsGoOfThePlaceWhenTheMountsOfTheHostChange) {
  if (!os::LightProcess::shares_memory()) GTEST_SKIP() << "here a first process is a fork, and does not begin early";
  if (unshare(CLONE_NEWNS) < 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) < 0)
    GTEST_SKIP() << "nothing can be mounted here: " << std::strerror(errno);
  SandboxSpec spec = native_spec();
  {
    auto tried = Sandbox::create(spec);
    if (!tried) GTEST_SKIP() << tried.error().message;
  }
  make(spec);
  const auto with_place = [] { return keepers(true).size() == 3; };  // nursery, keeper, first process
  ASSERT_TRUE(eventually(with_place));
  const std::string at = home().make_directory("mounted");
  ASSERT_EQ(mount("test", at.c_str(), "tmpfs", 0, nullptr), 0);
  EXPECT_TRUE(eventually([] { return keepers(true).size() == 2; }));
  Sandbox one = make(spec);
  EXPECT_EQ(said_by(one, "echo works"), "works\n");
  EXPECT_TRUE(eventually(with_place)) << "the next one has it again";
  EXPECT_EQ(umount2(at.c_str(), 0), 0) << "and holds on to nothing";
}

// The place that was made ahead is for a sandbox without wishes.
TEST_F(NurseryTest, AGuessThatWasWrongIsMadeGood) {
  const SandboxSpec plain = native_spec();
  {
    auto tried = Sandbox::create(plain);
    if (!tried) GTEST_SKIP() << tried.error().message;
  }
  const auto is_made = [&](auto&& wish, const std::string& script, const std::string& says) {
    { Sandbox before = make(plain); }
    ASSERT_TRUE(one_is_ahead());
    SandboxSpec spec = plain;
    spec.name += "w";
    wish(spec);
    Sandbox one = make(spec);
    EXPECT_EQ(said_by(one, script), says);
  };
  is_made([](SandboxSpec&) {}, "echo $(hostname | tail -c 2); ls -A /workspace", "w\n");
  is_made([](SandboxSpec& spec) { spec.net = "host"; }, "echo host", "host\n");
  is_made([](SandboxSpec& spec) { spec.disk_bytes = 8 << 20; }, "echo disk >/workspace/f; cat /workspace/f", "disk\n");
  is_made([](SandboxSpec& spec) { spec.volumes = {"/usr/bin:/workspace/v:ro"}; }, "ls /workspace", "v\n");
  is_made([](SandboxSpec& spec) { spec.persistent = true; }, "echo kept", "kept\n");
  for (const auto& name : {plain.name + "w"}) (void)Sandbox::remove(name);
}

}  // namespace
}  // namespace cove
