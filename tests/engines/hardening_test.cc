// The table of src/backend/engine/arguments.h, row by row, from inside.

#include <unistd.h>

#include "engines/engine.h"

namespace cove::engines {
namespace {

class Hardening : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { sandbox_ = std::make_unique<Sandbox>(create(make_spec())); }
  static void TearDownTestSuite() { sandbox_.reset(); }
  static std::string inside(const std::string& script) { return said(*sandbox_, script); }
  static inline std::unique_ptr<Sandbox> sandbox_;
};

// CHOWN 0, DAC_OVERRIDE 1, FOWNER 3, SETGID 6, SETUID 7.
TEST_F(Hardening, OnlyFiveCapabilitiesAreLeft) {
  EXPECT_EQ(inside("grep -E '^Cap(Eff|Bnd|Prm):' /proc/self/status | cut -f2 | sort -u"), "00000000000000cb\n");
}

TEST_F(Hardening, NoProgramGivesPrivilegesBack) {
  EXPECT_EQ(inside("grep ^NoNewPrivs: /proc/self/status | cut -f2"), "1\n");
}

TEST_F(Hardening, TheEnginesSystemCallFilterStands) {
  EXPECT_EQ(inside("grep ^Seccomp: /proc/self/status | cut -f2"), "2\n");
  EXPECT_NE(inside("mount -t tmpfs x /mnt 2>&1; echo $?"), "0\n");
}

TEST_F(Hardening, ProcessesAreLimitedTo256) {
  EXPECT_EQ(inside("cat /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max 2>/dev/null"), "256\n");
}

TEST_F(Hardening, TemporaryDirectoriesAreInMemoryAndOnlyTmpRunsPrograms) {
  const auto options = [](const std::string& at) {
    return inside("awk '$2 == \"" + at + "\" {print $3, $4}' /proc/mounts");
  };
  for (const char* at : {"/tmp", "/var/tmp", "/run"}) {
    EXPECT_TRUE(options(at).starts_with("tmpfs ")) << at << ": " << options(at);
    EXPECT_NE(options(at).find("nosuid"), std::string::npos) << at;
    EXPECT_EQ(options(at).find("noexec") == std::string::npos, std::string(at) == "/tmp") << at << ": " << options(at);
  }
  EXPECT_NE(options("/tmp").find("size=524288k"), std::string::npos) << options("/tmp");
  EXPECT_EQ(inside("cp /bin/true /tmp/t && /tmp/t && echo ran"), "ran\n");
}

TEST_F(Hardening, NoDumpsAreLeftAndNoGroupButItsOwnIsSeen) {
  EXPECT_EQ(inside("ulimit -Hc"), "0\n");
  EXPECT_NE(inside("readlink /proc/self/ns/cgroup"), [] {
    char path[64] = {};
    return readlink("/proc/self/ns/cgroup", path, sizeof(path) - 1) > 0 ? std::string(path) + "\n" : std::string();
  }());
}

TEST_F(Hardening, SomebodyReaps) {
  EXPECT_NE(inside("cat /proc/1/comm"), "guest\n");
  // An orphan whose end nobody of ours waits for.
  EXPECT_EQ(inside("p=$(setsid sh -c 'sleep 0.05 >/dev/null & echo $!'); until [ ! -e /proc/$p ]; do sleep 0.01; done; "
                   "echo gone"),
            "gone\n");
}

TEST_F(Hardening, ThereIsNoNetwork) { EXPECT_EQ(inside("ls /sys/class/net"), "lo\n"); }

TEST_F(Hardening, FilesOfTheImageStayWritable) {
  EXPECT_EQ(inside("echo x >/usr/bin/new && chown 1000 /usr/bin/new && echo ok; rm /usr/bin/new"), "ok\n");
}

TEST_F(Hardening, TheGuestCannotBeChangedOrReadInMemory) {
  EXPECT_EQ(inside("echo x 2>/dev/null >/cove/guest && echo changed; true"), "");
  EXPECT_EQ(inside("for p in $(pgrep -x guest); do cat /proc/$p/environ /proc/$p/mem 2>/dev/null | head -c1; done"),
            "");
}

TEST_F(Hardening, TheEngineKnowsNoVariableOfTheSandbox) {
  SandboxSpec spec = make_spec();
  testing_helpers::set_env(spec, "SECRET", "not-for-inspect");
  Sandbox sandbox = create(spec);
  EXPECT_EQ(said(sandbox, "echo $SECRET $GREETING"), "not-for-inspect hello\n");
  const std::string shown = engine("inspect " + containers_of(spec.name)).out;
  EXPECT_NE(shown.find(spec.name), std::string::npos);
  EXPECT_EQ(shown.find("not-for-inspect"), std::string::npos);
  EXPECT_EQ(testing_helpers::describe(testing_helpers::processes_with_argument("not-for-inspect")), "");
}

TEST(Limits, AreEnforcedAndTold) {
  SandboxSpec spec = make_spec();
  spec.memory_bytes = 64 << 20;
  spec.cpus = 0.5;
  spec.pids = 40;
  Sandbox sandbox = create(spec);
  EXPECT_EQ(said(sandbox, "cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null"),
            "67108864\n");
  EXPECT_EQ(said(sandbox, "cat /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max 2>/dev/null"), "40\n");
  EXPECT_NE(said(sandbox, "cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us /sys/fs/cgroup/cpu.max 2>/dev/null").find("50000"),
            std::string::npos);
  const auto ran = sandbox.run({.script = "tail /dev/zero"}, {}, soon());
  ASSERT_TRUE(ran) << ran.error().text();
  EXPECT_EQ(ran->ending, Ending::oom) << ran->detail;
  EXPECT_EQ(said(sandbox, "echo on"), "on\n");
}

TEST(Limits, WhatCannotBeEnforcedIsRefusedWithItsOption) {
  SandboxSpec spec = make_spec();
  spec.disk_bytes = 100 << 20;
  const auto disk = Sandbox::create(spec, soon());
  if (!disk) {
    EXPECT_EQ(disk.error().code, Errc::unsupported) << disk.error().text();
    EXPECT_NE(disk.error().message.find("--disk"), std::string::npos) << disk.error().text();
  }
  spec = make_spec();
  spec.net = "full";
  const auto net = Sandbox::create(spec, soon());
  ASSERT_FALSE(net);
  EXPECT_NE(net.error().message.find("--net full,private"), std::string::npos) << net.error().text();
}

}  // namespace
}  // namespace cove::engines
