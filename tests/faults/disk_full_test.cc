// A full disk under the sandboxes' state. The file system is a small tmpfs in a mount namespace of our own.

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "faults/fixture.h"

namespace cove::faults {
namespace {

class FullDisk : public Faults {
 protected:
  static void SetUpTestSuite() {
    const std::string path = home().make_directory("state");
    why_not_.clear();
    if (unshare(CLONE_NEWNS) != 0)
      why_not_ = std::string("unshare: ") + std::strerror(errno);
    else if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
      why_not_ = std::string("private /: ") + std::strerror(errno);
    else if (mount("tmpfs", path.c_str(), "tmpfs", 0, "size=4m,mode=0700") != 0)
      why_not_ = std::string("tmpfs: ") + std::strerror(errno);
    else
      mounted_ = true;
  }
  static void TearDownTestSuite() {
    if (mounted_) umount2(home().path().c_str(), MNT_DETACH);
  }
  void SetUp() override {
    if (!mounted_) GTEST_SKIP() << "no small file system can be mounted here: " << why_not_;
  }
  static void fill() {
    std::ofstream file(home().path() + "/ballast");
    const std::string block(4096, 'b');
    while (file.write(block.data(), 4096) && file.flush()) {}
  }
  static void empty() { unlink((home().path() + "/ballast").c_str()); }

 private:
  static inline bool mounted_ = false;
  static inline std::string why_not_ = "not tried";
};

TEST_F(FullDisk, ACommandWhoseLogDoesNotFitIsUnaffected) {
  Sandbox sandbox = create(make_spec());
  std::uint64_t seen = 0;
  const auto count = [&](Stream, std::string_view bytes) { seen += bytes.size(); };
  const auto end = sandbox.run({.script = "head -c 33000000 /dev/zero; exit 6"}, {.output = count}, soon());
  ASSERT_TRUE(end) << end.error().text();
  EXPECT_EQ(end->exit_code, 6);
  EXPECT_EQ(seen, 33'000'000U);
  EXPECT_TRUE(end->truncated) << "what was not kept must be told";
  const auto next = sandbox.sh("echo on", soon());
  ASSERT_TRUE(next) << next.error().text();
  EXPECT_EQ(next->output, "on\n");
}

TEST_F(FullDisk, CommandsRunWhenNotAByteIsFree) {
  Sandbox sandbox = create(make_spec());
  fill();
  for (int i = 0; i < 20; ++i) {
    const auto done = sandbox.sh("echo " + std::to_string(i), soon());
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(done->output, std::to_string(i) + "\n");
  }
  empty();
}

TEST_F(FullDisk, ASandboxThatCannotBeWrittenDownIsAClearErrorAndLeavesNothing) {
  fill();
  const auto sandbox = Sandbox::create(make_spec(), soon());
  empty();
  ASSERT_FALSE(sandbox) << "there was room for it";
  EXPECT_NE(sandbox.error().message.find("No space left"), std::string::npos) << sandbox.error().text();
}

}  // namespace
}  // namespace cove::faults
