#include "client/sandbox_pool.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "helpers/home.h"
#include "helpers/process.h"

namespace cove {
namespace {

using namespace testing_helpers;

SandboxSpec nameless_spec() {
  SandboxSpec spec = make_spec();
  spec.name.clear();
  spec.login = false;
  return spec;
}

bool comes_to(const SandboxPool& pool, std::size_t count) {
  return eventually([&] { return pool.ready() == count; });
}

// Of sandboxes: those in the nursery still bear its name.
std::vector<pid_t> keepers() {
  auto all = processes_with_env("COVE_HOME=" + home().path());
  std::erase_if(all, [](pid_t pid) { return describe({pid}).find("nursery") != std::string::npos; });
  return all;
}

// The guest's children: reapers with a shell below.
std::size_t shells_of_all() {
  std::size_t count = 0;
  for (const pid_t keeper : keepers()) {
    for (const pid_t guest : children_of(keeper)) count += children_of(guest).size();
  }
  return count;
}

class Pool : public testing::Test {
 protected:
  void SetUp() override { home(); }
  // Keepers say that all is over a moment before they are gone themselves.
  void TearDown() override {
    if (!eventually([] { return home().leftovers().empty(); })) FAIL() << home().leftovers();
  }
};

TEST_F(Pool, HandsOutOneThatIsReadyAndMakesAnother) {
  SandboxPool pool(nameless_spec(), 2);
  ASSERT_TRUE(comes_to(pool, 2));
  auto first = pool.take();
  ASSERT_TRUE(first) << first.error().text();
  EXPECT_EQ(first->sh("echo $((6 * 7))").value().output, "42\n");
  ASSERT_TRUE(comes_to(pool, 2));
  auto second = pool.take();
  ASSERT_TRUE(second) << second.error().text();
  EXPECT_NE(first->name(), second->name());
}

TEST_F(Pool, MakesOneWhenNoneIsReady) {
  SandboxPool pool(nameless_spec(), 0);
  auto sandbox = pool.take();
  ASSERT_TRUE(sandbox) << sandbox.error().text();
  EXPECT_EQ(sandbox->sh("echo here").value().output, "here\n");
  EXPECT_EQ(pool.ready(), 0U);
}

TEST_F(Pool, IsReadyOnlyWithAShellThatWaits) {
  SandboxPool pool(nameless_spec(), 1);
  ASSERT_TRUE(comes_to(pool, 1));
  EXPECT_EQ(shells_of_all(), 1U);
}

TEST_F(Pool, ReadsTheLoginFilesBeforeItIsReady) {
  SandboxSpec spec = nameless_spec();
  spec.login = true;
  SandboxPool pool(spec, 1);
  ASSERT_TRUE(comes_to(pool, 1));
  auto sandbox = pool.take();
  ASSERT_TRUE(sandbox) << sandbox.error().text();
  EXPECT_EQ(sandbox->sh("pwd").value().output, spec.cwd + "\n");
}

TEST_F(Pool, TellsTheNextTakerWhyNoneCouldBeMadeAndTriesAgain) {
  SandboxSpec spec = nameless_spec();
  spec.backend = "nowhere";
  SandboxPool pool(spec, 1);
  for (int i = 0; i < 2; ++i) {
    const auto taken = pool.take();
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().code, Errc::not_found) << taken.error().text();
  }
}

TEST_F(Pool, RefusesAName) {
  SandboxPool pool(make_spec(), 1);
  const auto taken = pool.take();
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, Errc::invalid);
}

TEST_F(Pool, DoesNotHandOutOneThatHasEnded) {
  SandboxPool pool(nameless_spec(), 1);
  ASSERT_TRUE(comes_to(pool, 1));
  const auto all = keepers();
  for (const pid_t keeper : all) {
    if (keeper != getpid()) kill(keeper, SIGKILL);
  }
  ASSERT_TRUE(eventually(
      [&] { return std::none_of(all.begin(), all.end(), [](pid_t pid) { return pid != getpid() && alive(pid); }); }));
  auto sandbox = pool.take();
  ASSERT_TRUE(sandbox) << sandbox.error().text();
  EXPECT_EQ(sandbox->sh("echo alive").value().output, "alive\n");
}

TEST_F(Pool, EndsWhatWasNotTakenAndLeavesWhatWas) {
  std::optional<Sandbox> taken;
  {
    SandboxPool pool(nameless_spec(), 2);
    ASSERT_TRUE(comes_to(pool, 2));
    taken = pool.take().value();
  }
  EXPECT_EQ(taken->sh("echo still").value().output, "still\n");
  const auto left = [] {
    auto pids = keepers();
    std::erase(pids, getpid());
    return pids.size();
  };
  EXPECT_TRUE(eventually([&] { return left() == 1; }));
}

}  // namespace
}  // namespace cove
