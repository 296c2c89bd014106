#include "backend/local/local.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "backend/table.h"
#include "os/descendants.h"

namespace cove::local {
namespace {

using namespace std::chrono_literals;

void expect_refused(const SandboxSpec& spec, const std::string& option) {
  const auto refused = LocalBackend().start(spec, Deadline::after(60s));
  ASSERT_FALSE(refused) << option;
  EXPECT_EQ(refused.error().code, Errc::unsupported);
  EXPECT_NE(refused.error().message.find(option), std::string::npos) << refused.error().message;
}

TEST(LocalBackend, RefusesWhatItCannotHonourByTheOptionsName) {
  SandboxSpec spec;
  (spec = {}).image = "debian";
  expect_refused(spec, "--image");
  (spec = {}).net = "none";
  expect_refused(spec, "--net none");
  (spec = {}).cpus = 0.5;
  expect_refused(spec, "--cpus");
  (spec = {}).memory_bytes = 1;
  expect_refused(spec, "--memory");
  (spec = {}).pids = 1;
  expect_refused(spec, "--pids");
  (spec = {}).disk_bytes = 1;
  expect_refused(spec, "--disk");
  (spec = {}).volumes = {"/a:/b"};
  expect_refused(spec, "--volume");
}

TEST(BackendTable, AnUnknownNameListsTheKnownOnes) {
  const auto unknown = find_backend("dcoker");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Errc::not_found);
  EXPECT_NE(unknown.error().message.find("local"), std::string::npos);
}

// The guest is played by a shell script that leaves a process behind which nobody asked to end.
class LocalPlaceTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    char path[] = "/tmp/cove-local-XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    folder_ = path;
    setenv("COVE_GUEST", (folder_ + "/guest").c_str(), 1);
  }
  void TearDown() override {
    unsetenv("COVE_GUEST");
    unlink((folder_ + "/guest").c_str());
    rmdir(folder_.c_str());
    prctl(PR_SET_CHILD_SUBREAPER, 0);
  }
  std::unique_ptr<Place> start(const std::string& script) {
    std::ofstream(folder_ + "/guest") << "#!/bin/sh\n" << script << "\n";
    chmod((folder_ + "/guest").c_str(), 0700);
    SandboxSpec spec;
    spec.env = {{"PATH", "/usr/bin:/bin"}, {"HOME", "/tmp"}, {"ONLY", "this"}};
    auto place = LocalBackend().start(spec, Deadline::after(60s));
    EXPECT_TRUE(place) << place.error().message;
    return std::move(*place);
  }
  static std::string read_line(int fd) {
    std::string line;
    char c = 0;
    while (read(fd, &c, 1) == 1 && c != '\n') line += c;
    return line;
  }
  std::string folder_;
};

TEST_F(LocalPlaceTest, TheEnvironmentIsExactlyTheSpecs) {
  const auto place =
      start("env | grep -v -e ^PWD= -e ^OLDPWD= -e ^SHLVL= -e ^_= | sort | tr '\\n' ' ' >&3; pwd >&3; cat <&3");
  const auto channel = place->connect(Deadline::after(60s));
  EXPECT_EQ(read_line(channel->in.get()), "HOME=/tmp ONLY=this PATH=/usr/bin:/bin /tmp");
}

TEST_F(LocalPlaceTest, DestroyEndsWhatAKilledGuestLeftBehind) {
  const auto place = start("setsid sh -c 'trap \"\" TERM; echo ready >&3; sleep 1000; sleep 1000' & kill -9 $$");
  const auto channel = place->connect(Deadline::after(60s));
  EXPECT_EQ(read_line(channel->in.get()), "ready");
  pollfd gone{place->gone_fd(), POLLIN, 0};
  ASSERT_EQ(poll(&gone, 1, 60'000), 1);
  EXPECT_EQ(place->ended().why, "the guest was killed by signal 9");
  EXPECT_FALSE(os::descendants(getpid()).empty());
  ASSERT_TRUE(place->destroy(Deadline::after(60s)));
  EXPECT_TRUE(os::descendants(getpid()).empty());
  EXPECT_TRUE(place->destroy(Deadline::after(60s)));
}

TEST_F(LocalPlaceTest, DestroyKillsAGuestThatDoesNotEnd) {
  const auto place = start("echo ready >&3; sleep 1000");
  const auto channel = place->connect(Deadline::after(60s));
  EXPECT_EQ(read_line(channel->in.get()), "ready");
  ASSERT_TRUE(place->destroy(Deadline::after(10ms)));
  EXPECT_TRUE(os::descendants(getpid()).empty());
}

}  // namespace
}  // namespace cove::local
