#include "os/cgroup_layout.h"

#include <gtest/gtest.h>

namespace cove::os {
namespace {

void expect_is(const Hierarchy& hierarchy, int version, const std::string& mount, const std::string& own) {
  EXPECT_EQ(hierarchy.version, version);
  EXPECT_EQ(hierarchy.mount, mount);
  EXPECT_EQ(hierarchy.own, own);
}

TEST(CgroupLayout, OneHierarchyHoldsEverythingOnV2) {
  const CgroupLayout layout =
      parse_cgroup_layout("24 1 0:22 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n",
                          "0::/user.slice/user-1000.slice/session-3.scope\n");
  expect_is(layout.memory, 2, "/sys/fs/cgroup", "/sys/fs/cgroup/user.slice/user-1000.slice/session-3.scope");
  expect_is(layout.pids, 2, layout.memory.mount, layout.memory.own);
  EXPECT_EQ(layout.all().size(), 1U);
}

TEST(CgroupLayout, AHybridMachineHasOneHierarchyForEachController) {
  const CgroupLayout layout = parse_cgroup_layout(
      "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
      "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
      "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n",
      "4:memory:/a/b\n1:cpu,cpuacct:/\n0::/c\n");
  expect_is(layout.memory, 1, "/sys/fs/cgroup/memory", "/sys/fs/cgroup/memory/a/b");
  expect_is(layout.cpu, 1, "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu,cpuacct");
  expect_is(layout.pids, 2, "/sys/fs/cgroup/unified", "/sys/fs/cgroup/unified/c");
  EXPECT_EQ(layout.all().size(), 3U);
}

TEST(CgroupLayout, AContainerSeesItsOwnPartAsTheTop) {
  const char* mount = "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";
  EXPECT_EQ(parse_cgroup_layout(mount, "4:memory:/docker/abc/x\n").memory.own, "/sys/fs/cgroup/memory/x");
  EXPECT_EQ(parse_cgroup_layout(mount, "4:memory:/docker/abcd\n").memory.own, "/sys/fs/cgroup/memory");
  EXPECT_EQ(parse_cgroup_layout(mount, "4:memory:/../other\n").memory.own, "/sys/fs/cgroup/memory");
}

TEST(CgroupLayout, ABlankInAPathIsUnescaped) {
  const CgroupLayout layout = parse_cgroup_layout("24 1 0:22 / /a\\040b rw - cgroup2 none rw\n", "0::/\n");
  expect_is(layout.memory, 2, "/a b", "/a b");
}

TEST(CgroupLayout, NothingMountedIsNoHierarchy) {
  const CgroupLayout layout = parse_cgroup_layout("22 1 0:20 / / rw - ext4 /dev/sda rw\nnonsense\n", "0::/\n");
  EXPECT_EQ(layout.memory.version, 0);
  EXPECT_TRUE(layout.all().empty());
}

TEST(CgroupLayout, AWordOfAListIsFoundWhole) {
  EXPECT_TRUE(has_word("cpuset cpu memory\n", "cpu"));
  EXPECT_TRUE(has_word("cpuset cpu memory\n", "memory"));
  EXPECT_FALSE(has_word("cpuset memory\n", "cpu"));
}

}  // namespace
}  // namespace cove::os
