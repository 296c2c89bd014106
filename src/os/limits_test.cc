#include "os/limits.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>

#include "base/unique_fd.h"
#include "os/limits_detail.h"

namespace cove::os {
namespace {

Deadline soon() { return Deadline::after(std::chrono::minutes(2)); }

// Unlike that of any other test run on this machine.
std::string own_name(const std::string& what) { return "test-" + std::to_string(getpid()) + "-" + what; }

// A child that enters the group before it does anything, then runs `body` (no allocation) and exits with its value.
template <class Body>
pid_t start_in(const LimitGroup& group, Body body) {
  std::array<int, 2> gate{};
  if (pipe2(gate.data(), O_CLOEXEC) < 0) return -1;
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(gate[1]);
    char go = 0;
    if (read(gate[0], &go, 1) != 1) _exit(99);
    _exit(body());
  }
  close(gate[0]);
  const UniqueFd opener(gate[1]);
  const auto added = group.add(pid);
  EXPECT_TRUE(added) << added.error().text();
  EXPECT_EQ(write(opener.get(), "x", 1), 1);
  return pid;
}

int status_of(pid_t pid) {
  int status = -1;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return status;
}

int touch(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  for (std::size_t at = 0; at < bytes; at += 4096) static_cast<volatile char*>(memory)[at] = 1;
  return 0;
}

// How many children could be made at once; they stay until their parent dies.
int forks_up_to(int many) {
  for (int made = 0; made < many; ++made) {
    const pid_t pid = fork();
    if (pid < 0) return errno == EAGAIN ? made : 98;
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      while (true) pause();
    }
  }
  return many;
}

// Tells `full` whenever the limit is reached.
[[noreturn]] void fork_for_ever(int full) {
  setsid();
  while (true) {
    if (fork() < 0 && write(full, "x", 1) < 0) sched_yield();
  }
}

bool is_found(const std::string& name) {
  const std::vector<std::string> names = find_limit_groups();
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Where a limit cannot be enforced here the error must say so; then there is nothing more to test.
class LimitGroups : public testing::Test {
 protected:
  void TearDown() override {
    for (const std::string& name : find_limit_groups()) EXPECT_FALSE(name.starts_with(own_name(""))) << name;
  }

  static bool refused(const std::string& support, const Limits& limits) {
    if (!support.empty()) return false;
    printf("not enforceable here: %s\n", probe_limits().why_not.c_str());
    EXPECT_FALSE(probe_limits().why_not.empty());
    const auto group = LimitGroup::make(own_name("refused"), limits);
    EXPECT_TRUE(!group && group.error().code == Errc::unsupported) << (group ? "it was made" : group.error().text());
    return true;
  }
};

TEST_F(LimitGroups, AProcessAboveTheMemoryLimitIsKilledAndCounted) {
  const Limits limits{.memory_bytes = 32 << 20};
  if (refused(probe_limits().memory, limits)) return;
  auto group = LimitGroup::make(own_name("memory"), limits);
  ASSERT_TRUE(group) << group.error().text();
  EXPECT_EQ(WEXITSTATUS(status_of(start_in(*group, [] { return touch(8 << 20); }))), 0);
  EXPECT_EQ(group->oom_kills(), 0U);
  const int status = status_of(start_in(*group, [] { return touch(128 << 20); }));
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  EXPECT_EQ(group->oom_kills(), 1U);
  EXPECT_TRUE(group->remove(soon()));
  EXPECT_EQ(group->oom_kills(), 0U);
}

TEST_F(LimitGroups, AForkBeyondThePidsLimitFails) {
  const Limits limits{.pids = 8};
  if (refused(probe_limits().pids, limits)) return;
  auto group = LimitGroup::make(own_name("pids"), limits);
  ASSERT_TRUE(group) << group.error().text();
  EXPECT_EQ(WEXITSTATUS(status_of(start_in(*group, [] { return forks_up_to(20); }))), 7);
}

TEST_F(LimitGroups, TheCpuQuotaIsSet) {
  const Limits limits{.cpus = 0.25};
  if (refused(probe_limits().cpus, limits)) return;
  const std::string name = own_name("cpus");
  auto group = LimitGroup::make(name, limits);
  ASSERT_TRUE(group) << group.error().text();
  if (probe_limits().cpus != "cgroup v1") return;
  const std::string directory = cgroup_layout().cpu.own + "/cove-" + name;
  EXPECT_EQ(read_text(directory + "/cpu.cfs_quota_us"), "25000\n");
  EXPECT_EQ(read_text(directory + "/cpu.cfs_period_us"), "100000\n");
}

TEST_F(LimitGroups, SwapIsNoWayAroundTheMemoryLimit) {
  const Limits limits{.memory_bytes = 64 << 20};
  if (refused(probe_limits().memory, limits)) return;
  const std::string name = own_name("swap");
  auto group = LimitGroup::make(name, limits);
  ASSERT_TRUE(group) << group.error().text();
  if (probe_limits().memory != "cgroup v1") return;
  const std::string directory = cgroup_layout().memory.own + "/cove-" + name;
  EXPECT_EQ(read_text(directory + "/memory.limit_in_bytes"), "67108864\n");
  const std::string together = read_text(directory + "/memory.memsw.limit_in_bytes");
  EXPECT_TRUE(together.empty() || together == "67108864\n") << together;
}

TEST_F(LimitGroups, RemoveEndsAForkStorm) {
  const Limits limits{.memory_bytes = 256 << 20, .cpus = 1, .pids = 64};
  if (refused(probe_limits().pids, limits)) return;
  const std::string name = own_name("storm");
  auto group = LimitGroup::make(name, limits);
  ASSERT_TRUE(group) << group.error().text();
  std::array<int, 2> full{};
  ASSERT_EQ(pipe2(full.data(), O_CLOEXEC), 0);
  const UniqueFd reader(full[0]), writer(full[1]);
  ASSERT_EQ(fcntl(full[1], F_SETFL, O_NONBLOCK), 0);
  const pid_t pid = start_in(*group, [&]() -> int { fork_for_ever(full[1]); });
  char once = 0;
  EXPECT_EQ(read(full[0], &once, 1), 1);
  EXPECT_TRUE(is_found(name));
  const auto removed = group->remove(soon());
  EXPECT_TRUE(removed) << removed.error().text();
  EXPECT_FALSE(is_found(name));
  EXPECT_EQ(WTERMSIG(status_of(pid)), SIGKILL);
  EXPECT_TRUE(group->remove(soon()));
}

TEST_F(LimitGroups, OneSandboxDoesNotFeelTheLimitOfAnother) {
  const Limits small{.pids = 4}, large{.pids = 16};
  if (refused(probe_limits().pids, small)) return;
  auto one = LimitGroup::make(own_name("one"), small);
  auto two = LimitGroup::make(own_name("two"), large);
  ASSERT_TRUE(one && two);
  const pid_t first = start_in(*one, [] { return forks_up_to(20); });
  const pid_t second = start_in(*two, [] { return forks_up_to(20); });
  EXPECT_EQ(WEXITSTATUS(status_of(second)), 15);
  EXPECT_EQ(WEXITSTATUS(status_of(first)), 3);
  EXPECT_TRUE(one->remove(soon()));
  EXPECT_TRUE(is_found(own_name("two")));
}

TEST_F(LimitGroups, OnlyTheNeededGroupsAreMade) {
  if (probe_limits().pids != "cgroup v1") return;
  const std::string name = own_name("needed");
  auto group = LimitGroup::make(name, {.pids = 4});
  ASSERT_TRUE(group);
  EXPECT_EQ(access((cgroup_layout().pids.own + "/cove-" + name).c_str(), F_OK), 0);
  EXPECT_NE(access((cgroup_layout().memory.own + "/cove-" + name).c_str(), F_OK), 0);
}

TEST_F(LimitGroups, WithoutLimitsThereAreNoGroups) {
  auto group = LimitGroup::make(own_name("none"), {});
  ASSERT_TRUE(group) << group.error().text();
  EXPECT_FALSE(is_found(own_name("none")));
  EXPECT_TRUE(group->add(getpid()));
  EXPECT_EQ(group->oom_kills(), 0U);
  EXPECT_TRUE(group->remove(soon()));
}

TEST_F(LimitGroups, ASecondGroupOfTheSameNameIsAConflictAndTheFirstStays) {
  const Limits limits{.memory_bytes = 64 << 20, .pids = 8};
  if (refused(probe_limits().pids, {.pids = 8})) return;
  if (refused(probe_limits().memory, {.memory_bytes = 64 << 20})) return;
  auto first = LimitGroup::make(own_name("twice"), {.pids = 8});
  ASSERT_TRUE(first);
  const auto second = LimitGroup::make(own_name("twice"), limits);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::conflict) << second.error().text();
  EXPECT_TRUE(first->remove(soon()));
  EXPECT_FALSE(is_found(own_name("twice"))) << "the failed one left something";
}

TEST_F(LimitGroups, AGroupLeftByACrashIsFoundAndRemovedByName) {
  const Limits limits{.pids = 8};
  if (refused(probe_limits().pids, limits)) return;
  const std::string name = own_name("crash");
  std::array<int, 2> alive{};  // open for as long as the survivor lives
  ASSERT_EQ(pipe2(alive.data(), O_CLOEXEC), 0);
  const UniqueFd reader(alive[0]);
  UniqueFd writer(alive[1]);
  const pid_t maker = fork();
  if (maker == 0) {
    const auto group = LimitGroup::make(name, limits);
    std::array<int, 2> ready{};
    if (!group || pipe2(ready.data(), O_CLOEXEC) < 0) _exit(1);
    start_in(*group, [&]() -> int {
      prctl(PR_SET_PDEATHSIG, 0);
      if (write(ready[1], "x", 1) != 1) return 1;
      return pause();
    });
    char survivor = 0;
    if (read(ready[0], &survivor, 1) == 1) kill(getpid(), SIGKILL);
  }
  writer.reset();
  EXPECT_EQ(WTERMSIG(status_of(maker)), SIGKILL);
  EXPECT_TRUE(is_found(name));
  const auto removed = remove_limit_group(name, soon());
  EXPECT_TRUE(removed) << removed.error().text();
  char nothing = 0;
  EXPECT_EQ(read(reader.get(), &nothing, 1), 0) << "the survivor lives";
  EXPECT_FALSE(is_found(name));
  EXPECT_TRUE(remove_limit_group(name, soon()));
}

TEST_F(LimitGroups, AGroupInsideTheGroupGoesWithIt) {
  if (probe_limits().pids != "cgroup v1") return;
  const std::string name = own_name("nested");
  auto group = LimitGroup::make(name, {.pids = 8});
  ASSERT_TRUE(group);
  const std::string inner = cgroup_layout().pids.own + "/cove-" + name + "/inner";
  ASSERT_EQ(mkdir(inner.c_str(), 0755), 0);
  const pid_t pid = start_in(*group, [] { return pause(); });
  ASSERT_TRUE(write_text(inner + "/cgroup.procs", std::to_string(pid)));
  EXPECT_TRUE(group->remove(soon()));
  EXPECT_EQ(WTERMSIG(status_of(pid)), SIGKILL);
}

TEST_F(LimitGroups, MovingAGroupMovesTheDuty) {
  if (refused(probe_limits().pids, {.pids = 8})) return;
  const std::string name = own_name("moved");
  auto group = LimitGroup::make(name, {.pids = 8});
  ASSERT_TRUE(group);
  {
    LimitGroup keeper(std::move(*group));
    EXPECT_TRUE(group->remove(soon()));
    EXPECT_TRUE(is_found(name));
  }
  EXPECT_FALSE(is_found(name));
}

TEST_F(LimitGroups, ABadNameOrNumberIsInvalid) {
  for (const std::string name : {"", "a/b", "../x", "a b", "x\n"}) {
    EXPECT_EQ(LimitGroup::make(name, {.pids = 8}).error().code, Errc::invalid) << name;
    EXPECT_EQ(remove_limit_group(name, soon()).error().code, Errc::invalid) << name;
  }
  for (const double cpus : {-1.0, 0.001, 1e9, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(LimitGroup::make(own_name("number"), {.cpus = cpus}).error().code, Errc::invalid) << cpus;
  }
}

TEST_F(LimitGroups, WithoutPermissionTheErrorNamesTheLimitAndTheWayOut) {
  if (geteuid() != 0 || refused(probe_limits().pids, {.pids = 8})) return;
  const pid_t pid = fork();
  if (pid == 0) {
    if (setgid(65534) < 0 || setuid(65534) < 0) _exit(2);
    const auto group = LimitGroup::make(own_name("nobody"), {.pids = 8});
    if (group) _exit(3);
    const std::string text = group.error().text();
    const bool fine = text.starts_with("unsupported: limit pids: ") && text.find("or leave the limit out") != text.npos;
    if (!fine) fprintf(stderr, "%s\n", text.c_str());
    _exit(fine ? 0 : 4);
  }
  EXPECT_EQ(WEXITSTATUS(status_of(pid)), 0);
}

// A v2 hierarchy with controllers is not to be had on every test machine: files stand in for the kernel's here.
class FakeV2 : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = std::filesystem::temp_directory_path() / "cove-limits-test-XXXXXX";
    top_ = mkdtemp(name.data());
    for (const std::string group : {"", "/a", "/a/b"}) {
      std::filesystem::create_directory(top_ + group);
      put(group + "/cgroup.procs", "");
      put(group + "/cgroup.controllers", "cpu memory pids\n");
    }
  }
  void TearDown() override { std::filesystem::remove_all(top_); }
  void put(const std::string& file, const std::string& text) { std::ofstream(top_ + file) << text; }

  std::string top_;
};

TEST_F(FakeV2, TheNearestGroupThatHandsTheControllersDownIsTaken) {
  put("/a/cgroup.subtree_control", "memory pids\n");
  put("/cgroup.subtree_control", "cpu memory pids\n");
  const Hierarchy hierarchy{2, top_, top_ + "/a/b"};
  EXPECT_EQ(find_parent_v2(hierarchy, {.memory_bytes = 1, .pids = 1}).value(), top_ + "/a");
  EXPECT_EQ(read_text(top_ + "/a/cgroup.subtree_control"), "memory pids\n") << "what is enabled is left alone";
  EXPECT_EQ(find_parent_v2({2, top_, top_}, {.cpus = 1}).value(), top_);
}

TEST_F(FakeV2, AGroupWithProcessesOrThreadsHandsNothingDown) {
  for (const std::string group : {"", "/a", "/a/b"}) put(group + "/cgroup.subtree_control", "pids\n");
  put("/a/b/cgroup.type", "domain\n");
  put("/a/b/cgroup.procs", "17\n");
  put("/a/cgroup.type", "domain threaded\n");
  EXPECT_EQ(find_parent_v2({2, top_, top_ + "/a/b"}, {.pids = 1}).value(), top_);
  put("/a/b/cgroup.procs", "");
  EXPECT_EQ(find_parent_v2({2, top_, top_ + "/a/b"}, {.pids = 1}).value(), top_ + "/a/b");
}

TEST_F(FakeV2, AMissingControllerIsEnabledOrNamed) {
  put("/a/b/cgroup.subtree_control", "");
  EXPECT_EQ(find_parent_v2({2, top_, top_ + "/a/b"}, {.cpus = 1, .pids = 1}).value(), top_ + "/a/b");
  EXPECT_EQ(read_text(top_ + "/a/b/cgroup.subtree_control"), "+cpu +pids");
  put("/cgroup.controllers", "cpuset memory\n");
  const auto parent = find_parent_v2({2, top_, top_ + "/a/b"}, {.cpus = 1});
  ASSERT_FALSE(parent);
  EXPECT_NE(parent.error().message.find("no controller 'cpu'"), std::string::npos);
}

TEST_F(FakeV2, LimitsAreWrittenAsTheKernelReadsThem) {
  for (const std::string file : {"/memory.max", "/memory.swap.max", "/cpu.max", "/pids.max"}) put(file, "");
  ASSERT_TRUE(set_limits_v2(top_, {.memory_bytes = 1 << 20, .cpus = 1.5, .pids = 9}));
  EXPECT_EQ(read_text(top_ + "/memory.max"), "1048576");
  EXPECT_EQ(read_text(top_ + "/memory.swap.max"), "0");
  EXPECT_EQ(read_text(top_ + "/cpu.max"), "150000 100000");
  EXPECT_EQ(read_text(top_ + "/pids.max"), "9");
}

}  // namespace
}  // namespace cove::os
