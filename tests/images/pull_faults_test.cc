// A pull that is killed, or runs out of disk: nothing half-done is visible, and the next one goes on.

#include <csignal>

#include "fixture.h"

namespace cove::image_tests {
namespace {

class PullFaultsTest : public PullTest {};

TEST_F(PullFaultsTest, KilledAtAnyMomentItLeavesAllOfAnImageOrNone) {
  const std::string name = registry_->host() + "/a/b:1";
  int killed = 0;
  for (int moment = 5; moment < 400; moment += 15) {
    auto running = start({"pull", name});
    if (running.child.wait(Deadline::after(std::chrono::milliseconds(moment)))) break;  // it was done before
    ASSERT_TRUE(running.child.signal(SIGKILL));
    (void)running.child.wait(Deadline::never());
    ++killed;
    auto images = store();
    const auto found = images.find(name);
    ASSERT_TRUE(found) << found.error().text();
    for (const std::string& layer : *found ? (*found)->layers : std::vector<std::string>{}) {
      EXPECT_TRUE(images.has_layer(layer)) << "after " << moment << " ms";
    }
  }
  EXPECT_GT(killed, 2);
  const Ran ran = pull(name);
  ASSERT_EQ(ran.code, 0) << ran.text;
  EXPECT_TRUE(has(name));
  auto images = store();
  const auto pruned = images.prune({});
  ASSERT_TRUE(pruned) << pruned.error().text();
  EXPECT_TRUE(pruned->layers.empty());
}

// A small file system of its own, in a mount namespace that ends with the shell.
TEST_F(PullFaultsTest, AFullDiskIsSaidSoAndNothingIsVisible) {
  const Ran probe = shell("unshare -m bash -c 'mount -t tmpfs x " + folder_ + " && : >" + folder_ +
                          "/f && setfattr -n user.x -v y " + folder_ + "/f' 2>&1");
  if (probe.code != 0) GTEST_SKIP() << "no small file system here: " << probe.text;
  const std::string name = registry_->host() + "/a/b:1";
  write("script", "set -e; cd " + folder_ +
                      "; mkdir disk; mount -t tmpfs -o size=4m x disk; export COVE_HOME=$PWD/disk/h\n"
                      "P='" COVE_TEST_IMAGE_PROGRAM "'; $P pull " +
                      name + " && exit 1\n" + "$P ls; echo \"now $($P ls --json | grep -c sha256) images\"\n" +
                      "mount -o remount,size=64m disk; $P pull " + name + "; $P ls\n");
  const Ran ran = shell("unshare -m bash " + folder_ + "/script 2>&1");
  EXPECT_EQ(ran.code, 0) << ran.text;
  EXPECT_NE(ran.text.find("No space left on device"), std::string::npos) << ran.text;
  EXPECT_NE(ran.text.find("now 0 images"), std::string::npos) << ran.text;
}

TEST_F(PullFaultsTest, PlainHttpIsTriedOnlyWhereItIsConfigured) {
  const std::string name = "registry.invalid:5000/a";
  EXPECT_NE(pull(name).text.find("https://registry.invalid"), std::string::npos);
  const Ran by_variable = pull(name, {"COVE_INSECURE_REGISTRIES=other.invalid,registry.invalid:5000"});
  EXPECT_NE(by_variable.text.find("http://registry.invalid"), std::string::npos) << by_variable.text;
  write("config/cove/config.toml", "insecure_registries = [\"registry.invalid:5000\"]\n");
  const Ran by_file = pull(name, {"XDG_CONFIG_HOME=" + folder_ + "/config"});
  EXPECT_NE(by_file.text.find("http://registry.invalid"), std::string::npos) << by_file.text;
}

}  // namespace
}  // namespace cove::image_tests
