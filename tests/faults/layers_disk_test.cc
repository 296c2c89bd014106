// A full disk while files are sealed, saved and applied. The file systems are small ones in memory, in a mount
// namespace of our own.

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "faults/fixture.h"
#include "helpers/program.h"
#include "record/snapshots.h"

namespace cove::faults {
namespace {

using testing_helpers::run_cove;

class FullDiskOfLayers : public Faults {
 protected:
  static void SetUpTestSuite() {
    setenv("COVE_TEST_BACKEND", "native", 1);
    host_ = home().make_directory("host");
    const std::string state = home().make_directory("state");
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("tmpfs", state.c_str(), "tmpfs", 0, "size=16m,mode=0700") != 0 ||
        mount("tmpfs", host_.c_str(), "tmpfs", 0, "size=8m,mode=0755") != 0) {
      why_not_ = std::string("mount a small file system: ") + std::strerror(errno);
      return;
    }
    if (const auto tried = Sandbox::create(make_spec(), soon()); !tried) why_not_ = tried.error().text();
  }
  static void TearDownTestSuite() {
    umount2(home().path().c_str(), MNT_DETACH);
    umount2(host_.c_str(), MNT_DETACH);
  }
  void SetUp() override {
    if (!why_not_.empty()) GTEST_SKIP() << why_not_;
  }
  static void fill(const std::string& where) {
    std::ofstream file(where + "/ballast");
    const std::string block(4096, 'b');
    while (file.write(block.data(), 4096) && file.flush()) {}
  }
  static void empty(const std::string& where) { unlink((where + "/ballast").c_str()); }
  static std::string sh(Sandbox& sandbox, const std::string& script) {
    const auto done = sandbox.sh(script, soon());
    return done ? done->output : done.error().text();
  }
  // The state that is on disk counts also for those who clear it up.
  static void snapshot_on_full_disk(SandboxSpec spec) {
    Sandbox sandbox = create(spec);
    EXPECT_EQ(sh(sandbox, "echo 1 > f; X=1; cat f"), "1\n");
    fill(home().path());
    for (int i = 0; i < 3; ++i) {
      const auto saved = sandbox.snapshot("tag", soon());
      ASSERT_FALSE(saved);
      EXPECT_NE(saved.error().message.find("No space left"), std::string::npos) << saved.error().text();
      EXPECT_EQ(run_cove({"gc"}).code, 0);
      EXPECT_EQ(sh(sandbox, "cat f; echo $X"), "1\n1\n") << "it works on";
      EXPECT_TRUE(record::list_snapshots()->empty());
    }
    empty(home().path());
    EXPECT_TRUE(std::filesystem::is_empty(home().path() + "/snapshots")) << "something half-made is left";
    EXPECT_EQ(sh(sandbox, "echo 2 > g; cat f g"), "1\n2\n");
    ASSERT_TRUE(sandbox.snapshot("tag", soon()));
    EXPECT_EQ(sh(sandbox, "rm f g; X=2; ls"), "");
    fill(home().path());
    const auto restored = sandbox.restore("tag", soon());
    EXPECT_EQ(sh(sandbox, "ls; echo $X"), restored ? "f\ng\n1\n" : "2\n") << "all of it or nothing";
    empty(home().path());
    ASSERT_TRUE(sandbox.restore("tag", soon()));
    EXPECT_EQ(sh(sandbox, "cat f g; echo $X"), "1\n2\n1\n");
    EXPECT_TRUE(sandbox.stop({.remove = true}, soon()));
    EXPECT_EQ(run_cove({"snapshot", "rm", "tag"}).code, 0);
    EXPECT_TRUE(std::filesystem::is_empty(home().path() + "/layers"));
  }

  static inline std::string host_, why_not_;
};

TEST_F(FullDiskOfLayers, ASnapshotThatDoesNotFitIsAClearErrorAndNothingIsHalfDone) {
  snapshot_on_full_disk(lasting_spec());
}

TEST_F(FullDiskOfLayers, TheSameForAPersistentSandbox) {
  SandboxSpec spec = lasting_spec();
  spec.persistent = true;
  snapshot_on_full_disk(spec);
}

TEST_F(FullDiskOfLayers, CheckpointsThatDoNotFitDoNotStopCommands) {
  SandboxSpec spec = lasting_spec();
  spec.checkpoint = true;
  Sandbox sandbox = create(spec);
  EXPECT_EQ(sh(sandbox, "echo 1 > f; cat f"), "1\n");
  fill(home().path());
  for (int i = 0; i < 5; ++i) EXPECT_EQ(sh(sandbox, "ln -s f g" + std::to_string(i) + "; cat f"), "1\n");
  empty(home().path());
  EXPECT_EQ(sh(sandbox, "echo 2 > f; ls; cat f"), "f\ng0\ng1\ng2\ng3\ng4\n2\n");
  ASSERT_TRUE(sandbox.undo(1, soon()));
  EXPECT_EQ(sh(sandbox, "cat f"), "1\n");
  EXPECT_TRUE(sandbox.stop({.remove = true}, soon()));
}

TEST_F(FullDiskOfLayers, AnApplyThatDoesNotFitLeavesTheHostAsItWas) {
  SandboxSpec spec = lasting_spec();
  std::ofstream(host_ + "/old") << "old\n";
  spec.volumes = {host_ + ":/workspace:cow"};
  Sandbox sandbox = create(spec);
  EXPECT_EQ(sh(sandbox, "echo new > old; echo a > a; head -c 2000000 /dev/zero > big; head -c 2000000 /dev/zero > z"),
            "");
  fill(host_);
  const auto applied = run_cove({"apply", spec.name});
  EXPECT_NE(applied.code, 0);
  EXPECT_NE(applied.err.find("No space left"), std::string::npos) << applied.err;
  EXPECT_EQ(testing_helpers::slurp(host_ + "/old"), "old\n");
  EXPECT_FALSE(std::filesystem::exists(host_ + "/a"));
  EXPECT_EQ(sh(sandbox, "cat old a"), "new\na\n");
  empty(host_);
  const auto again = run_cove({"apply", spec.name});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(testing_helpers::slurp(host_ + "/old"), "new\n");
  EXPECT_TRUE(sandbox.stop({.remove = true}, soon()));
}

}  // namespace
}  // namespace cove::faults
