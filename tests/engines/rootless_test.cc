// Podman without root: as nobody, with and without ranges of ids.

#include <unistd.h>

#include <filesystem>

#include "engines/engine.h"

namespace cove::engines {
namespace {

class Rootless : public ::testing::Test {
 protected:
  void SetUp() override {
    if (backend_name() != "podman") GTEST_SKIP() << "belongs to podman: a rootless dockerd is another daemon";
    if (geteuid() != 0) GTEST_SKIP() << "needs root to be somebody else";
    char folder[] = "/tmp/cove-rootless-XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
    std::filesystem::permissions(folder_, std::filesystem::perms(0755));
  }
  void TearDown() override {
    if (folder_.empty()) return;
    as_user("podman unshare rm -rf " + folder_ +
            "/home/.local; podman system migrate");  // ends what held its namespace
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  // A line of bash as that user.
  Done as_user(const std::string& line) const {
    auto program = testing_helpers::start_program({COVE_TEST_AS_USER, folder_, ranges_, "/bin/bash", "-c", line});
    if (!program) return {-1, program.error().text(), ""};
    const int code = program->finish();
    return {code, program->heard, ""};
  }
  Done cove(const std::string& words) const { return as_user(testing_helpers::cove_program() + " " + words); }

  std::string folder_, ranges_;
};

TEST_F(Rootless, WithoutRangesOfIdsTheProbeAndCreateSaySo) {
  const Done doctor = cove("doctor");
  EXPECT_NE(doctor.out.find("usermod --add-subuids"), std::string::npos) << doctor.out;
  const Done made = cove("create --backend podman --image cove-test:busybox x");
  EXPECT_NE(made.code, 0);
  EXPECT_NE(made.out.find("usermod --add-subuids"), std::string::npos) << made.out;
  EXPECT_EQ(cove("ls --names").out, "");
}

TEST_F(Rootless, WithRangesASandboxRunsAndALimitWithoutDelegationIsRefused) {
  ranges_ = "700000:65536";
  const Done import = as_user(
      "cd; mkdir -p root/bin root/etc root/root root/tmp; cp /bin/busybox root/bin/; for n in sh cat id; do ln -s "
      "busybox "
      "root/bin/$n; done; tar -C root -c . | podman import - cove-test:busybox 2>&1");
  if (import.code != 0) GTEST_SKIP() << "podman without root does not work here: " << import.out;
  const Done ran = cove("run --backend podman --image cove-test:busybox -- 'id -u; cat /proc/self/uid_map'");
  ASSERT_EQ(ran.code, 0) << ran.out;
  EXPECT_TRUE(ran.out.starts_with("0\n")) << ran.out;
  EXPECT_NE(ran.out.find(" 65534 "), std::string::npos) << "root inside is that user: " << ran.out;
  if (cove("doctor").out.find("limit:memory=podman") != std::string::npos) return;  // delegated
  const Done limited = cove("run --backend podman --image cove-test:busybox --memory 64m -- true");
  EXPECT_NE(limited.code, 0);
  EXPECT_NE(limited.out.find("--memory"), std::string::npos) << limited.out;
  EXPECT_NE(limited.out.find("delegated"), std::string::npos) << limited.out;
  EXPECT_EQ(as_user("podman ps --all --quiet").out, "");
}

}  // namespace
}  // namespace cove::engines
