// F, second half: background jobs, many commands, speed. Cases 78-85.

#include <algorithm>
#include <filesystem>

#include "conformance/fixture.h"
#include "helpers/program.h"

namespace cove::conformance {
namespace {

using testing_helpers::held_by;
using testing_helpers::processes_with_env;

TEST_F(Contract, Case078_ABackgroundJobNeitherBlocksNorDies) {
  const auto attempt = [&] {
    const Ran ran = sh("sleep 999 & echo $! >pid; echo bg");
    EXPECT_RAN(ran, 0, "bg\n");
    const std::string pid = read_inside("pid");
    EXPECT_TRUE(alive_inside(pid));
    EXPECT_RAN(sh("kill " + pid), 0, "");
    EXPECT_TRUE(dies_inside(pid));
    return ran.took;
  };
  EXPECT_EQ(too_slow(0.4s, attempt), "");
}

TEST_F(Contract, Case079_AChattyBackgroundJobIsNotKilledBySigpipe) {
  if (const std::string why = why_orphans_are_lost(); !why.empty()) GTEST_SKIP() << why;
  const auto attempt = [&] {
    const Ran ran = sh("(while :; do echo x; echo . >>ticks; sleep .1; done) & echo $! >pid; echo s");
    EXPECT_TRUE(ran.exited(0)) << printable(ran);
    EXPECT_NE(ran.output.find("s\n"), std::string::npos);
    const std::size_t before = read_inside("ticks").size();
    EXPECT_TRUE(eventually([&] { return read_inside("ticks").size() >= before + 20; })) << "it stopped writing";
    const std::string pid = read_inside("pid");
    EXPECT_TRUE(alive_inside(pid));
    sh("kill -9 " + pid);
    EXPECT_TRUE(dies_inside(pid));
    return ran.took;
  };
  EXPECT_EQ(too_slow(2.3s, attempt), "");
}

TEST_F(Contract, Case080_AListInTheBackgroundReturnsAndLeavesNoSubshell) {
  const Ran ran = sh("true && sleep 999 &\necho $! >pid");
  EXPECT_RAN(ran, 0, "");
  EXPECT_LT(ran.took, kPatience) << "it waited for the list";
  EXPECT_RAN(sh("true && sleep .2 &\necho $! >short"), 0, "");
  EXPECT_TRUE(dies_inside(read_inside("short"))) << "a sub-shell is stuck";
  const std::string pid = read_inside("pid");
  EXPECT_TRUE(alive_inside(pid));
  sh("pkill -P " + pid + "; kill " + pid);
  EXPECT_TRUE(dies_inside(pid));
}

TEST_F(Contract, Case081_AmpersandsAreNeverRewritten) {
  EXPECT_RAN(sh("{ echo a; echo b >&2; } |& tee l; cat l"), 0, "a\nb\na\nb\n");
  EXPECT_RAN(sh("echo $((5&3))"), 0, "1\n");
  EXPECT_RAN(sh("case x in x) echo 1;;& *) echo 2;; esac"), 0, "1\n2\n");
  EXPECT_RAN(sh("{ echo o; echo e >&2; } 2>&1 | tr a-z A-Z"), 0, "O\nE\n");
  EXPECT_RAN(sh("{ echo o; echo e >&2; } &>f; cat f"), 0, "o\ne\n");
  EXPECT_RAN(sh("echo 'nohup x &'; nohup true; wait"), 0, "nohup x &\n");
}

TEST_F(Contract, Case083_AKilledOwnerLeavesNothing) {
  if (const std::string why = why_not_seen_by_host(); !why.empty()) GTEST_SKIP() << why;
  const std::string mark = home().root() + "/owner";
  auto owner = testing_helpers::start_program({"/proc/self/exe", "--owner", mark},
                                              {"COVETEST_OWNER=" + mark, "TMPDIR=" + home().root()});
  ASSERT_TRUE(owner) << owner.error().text();
  ASSERT_TRUE(owner->says("ready")) << owner->heard;
  // Said by the shell, which may be faster than the programs that it starts.
  EXPECT_TRUE(eventually([&] { return !processes_with_env("OWNER_MARK=" + mark).empty(); }));
  ASSERT_TRUE(owner->child.signal(9));
  const auto left = [&] {
    auto pids = processes_with_env("OWNER_MARK=" + mark);
    const auto keepers = processes_with_env("COVETEST_OWNER=" + mark);
    pids.insert(pids.end(), keepers.begin(), keepers.end());
    return pids;
  };
  EXPECT_TRUE(eventually([&] { return left().empty(); })) << testing_helpers::describe(left());
}

// The keeper and guest of the shared sandbox; on other machines than this only the keeper can be seen.
std::vector<pid_t> ours() {
  auto pids = processes_with_env("COVE_HOME=" + home().path());
  std::erase(pids, getpid());
  for (const pid_t keeper : std::vector<pid_t>(pids)) {
    for (const pid_t child : testing_helpers::children_of(keeper)) pids.push_back(child);
  }
  return pids;
}

std::size_t files_below(const std::string& path) {
  std::error_code gone;
  return static_cast<std::size_t>(
      std::distance(std::filesystem::recursive_directory_iterator(
                        path, std::filesystem::directory_options::skip_permission_denied, gone),
                    {}));
}

TEST_F(Contract, Case084_AThousandCommandsLeaveNothingBehind) {
  constexpr std::size_t kShells =
      4 * 8;  // so many may wait, with so many descriptors each; how many is a matter of pace
  for (int i = 0; i < 50; ++i) ASSERT_EQ(sh("true").code(), 0);
  const auto pids = ours();
  ASSERT_FALSE(pids.empty());
  std::vector<testing_helpers::Held> before;
  for (const pid_t pid : pids) before.push_back(held_by(pid));
  const std::size_t files = files_below(home().root());
  // Where programs start slowly 200 do: a leak of one descriptor or file per command is still beyond what may wait.
  const int rounds = why_processes_are_slow().empty() ? 1000 : 200;
  for (int i = 0; i < rounds; ++i) ASSERT_EQ(sh("true").code(), 0) << "command " << i;
  for (std::size_t i = 0; i < pids.size(); ++i) {
    SCOPED_TRACE(testing_helpers::command_line(pids[i]));
    const auto quiet = [&] {
      const auto now = held_by(pids[i]);
      return now.descriptors <= before[i].descriptors + kShells && now.threads <= before[i].threads &&
             testing_helpers::zombies_of(pids[i]).empty();
    };
    EXPECT_TRUE(eventually(quiet)) << held_by(pids[i]).descriptors << " descriptors, before " << before[i].descriptors
                                   << "; " << held_by(pids[i]).threads << " threads";
  }
  EXPECT_TRUE(eventually([&] { return files_below(home().root()) <= files + 4; }))
      << files_below(home().root()) << " files, before " << files;
}

TEST_F(Contract, Case085_TrueCostsLittleTime) {
  if (const std::string why = why_processes_are_slow(); !why.empty()) GTEST_SKIP() << why;
  const auto median_of_a_hundred = [&] {
    std::vector<Seconds> took;
    for (int i = 0; i < 100; ++i) took.push_back(sh("true").took);
    std::nth_element(took.begin(), took.begin() + 50, took.end());
    return took[50];
  };
  EXPECT_EQ(too_slow(0.010s, median_of_a_hundred), "");
}

}  // namespace
}  // namespace cove::conformance
