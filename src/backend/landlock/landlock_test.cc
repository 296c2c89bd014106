#include "backend/landlock/landlock.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "backend/local/local.h"
#include "os/descendants.h"
#include "os/landlock.h"

namespace cove::landlock {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

// The guest is played by a shell script that says on its channel what it could do. Each attempt is made on the local
// backend too, where it must succeed: that is how a check proves that it can fail.
class LandlockPlaceTest : public testing::Test {
 protected:
  void SetUp() override {
    if (os::landlock_abi() < 3) GTEST_SKIP() << "this kernel has no Landlock that will do";
    ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    char path[] = "/tmp/cove-landlock-XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    folder_ = path;
    spec_.directory = folder_ + "/box";
    fs::create_directory(spec_.directory);
    fs::create_directory(folder_ + "/outside");
    std::ofstream(folder_ + "/outside/file") << "secret\n";
    spec_.env = {{"PATH", "/usr/bin:/bin"}, {"HOME", folder_}, {"OUTSIDE", folder_ + "/outside"}};
    setenv("COVE_GUEST", (folder_ + "/guest").c_str(), 1);
  }
  void TearDown() override {
    unsetenv("COVE_GUEST");
    if (!folder_.empty()) fs::remove_all(folder_);
    prctl(PR_SET_CHILD_SUBREAPER, 0);
  }

  void write_guest(const std::string& script) {
    std::ofstream(folder_ + "/guest") << "#!/bin/bash\n" << script << "\n";
    chmod((folder_ + "/guest").c_str(), 0700);
  }
  std::unique_ptr<Place> start(Backend& backend, const std::string& script) {
    write_guest(script);
    auto place = backend.start(spec_, Deadline::after(60s));
    EXPECT_TRUE(place) << place.error().message;
    return place ? std::move(*place) : nullptr;
  }
  // What the script says.
  std::string said(Backend& backend, const std::string& script) {
    const auto place = start(backend, script);
    if (!place) return "";
    const auto channel = place->connect(Deadline::after(60s));
    std::string all;
    char some[4096];
    for (ssize_t n = 0; (n = read(channel->in.get(), some, sizeof(some))) > 0;)
      all.append(some, static_cast<std::size_t>(n));
    return all;
  }
  std::string inside(const std::string& script) { return said(landlock_, script); }

  // Each line is an attempt by itself.
  void expect_refused(const std::vector<std::string>& attempts) {
    for (const std::string& attempt : attempts) {
      const std::string script =
          "if { " + attempt + "; } >/dev/null 2>&1; then echo done >&3; else echo refused >&3; fi";
      EXPECT_EQ(inside(script), "refused\n") << attempt;
      const std::string net = std::exchange(spec_.net, "");
      EXPECT_EQ(said(local_, script), "done\n") << attempt << " on the local backend";
      spec_.net = net;
    }
  }

  std::string folder_;
  SandboxSpec spec_;
  LandlockBackend landlock_;
  local::LocalBackend local_;
};

TEST_F(LandlockPlaceTest, FilesAreWrittenOnlyInWorkspaceAndTmp) {
  expect_refused({"echo x > $OUTSIDE/new", "echo x >> $OUTSIDE/file", "mkdir $OUTSIDE/d", "ln -s x $OUTSIDE/link",
                  "mkfifo $OUTSIDE/fifo", "truncate -s 3 $OUTSIDE/file", "mv $OUTSIDE/file $OUTSIDE/moved",
                  "rm $OUTSIDE/moved || rm $OUTSIDE/file",
                  "echo x > /tmp/cove-landlock-probe.$$ && rm /tmp/cove-landlock-probe.$$"});
  EXPECT_EQ(
      inside("cd $HOME && echo a > f && mv f g && mkdir d && ln g d/h && rm g && cat d/h >&3; echo b > $TMPDIR/t && "
             "mv $TMPDIR/t . && cat t >&3; pwd >&3"),
      "a\nb\n" + spec_.directory + "/workspace\n");
}

TEST_F(LandlockPlaceTest, FilesAreReadOnlyThereAndInTheSystemView) {
  expect_refused({"cat $OUTSIDE/file", "ls $OUTSIDE", "ls ~root || ls " + folder_, "ls /var", "ls /", "ls /run",
                  "cp $OUTSIDE/file /dev/null", "cat /proc/$PPID/environ", "ls /proc/$PPID/root/"});
  if (geteuid() == 0)
    expect_refused({"ls /root", "cat /etc/shadow", "dd if=/dev/kmsg of=/dev/null iflag=nonblock count=1"});
  EXPECT_EQ(
      inside("head -c1 /etc/passwd >/dev/null && ls /usr /etc /proc/self >/dev/null && cat /dev/null && echo fine >&3"),
      "fine\n");
}

TEST_F(LandlockPlaceTest, NothingOfTheRecordIsReadable) {
  std::ofstream(spec_.directory + "/spec.json") << "{}";
  expect_refused({"cat " + spec_.directory + "/spec.json", "ls " + spec_.directory});
}

TEST_F(LandlockPlaceTest, TheNetworkIsThereOnlyIfAskedFor) {
  const UniqueFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener.get(), 8), 0);
  getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
  const std::string port = std::to_string(ntohs(address.sin_port));
  const std::string attempt = "exec 9<>/dev/tcp/127.0.0.1/" + port;
  expect_refused({attempt, "echo x > /dev/udp/127.0.0.1/" + port});
  spec_.net = "none";
  expect_refused({attempt});
  spec_.net = "host";
  EXPECT_EQ(inside(attempt + " && echo connected >&3"), "connected\n");
}

// Behind such a path is, on many machines, somebody who runs programs for whoever asks.
TEST_F(LandlockPlaceTest, NoUnixSocketIsReachableWhateverTheNetwork) {
  if (access("/usr/bin/python3", X_OK) < 0) GTEST_SKIP() << "there is no python3 to try it with";
  const std::string path = folder_ + "/outside/socket";
  const UniqueFd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(listener.get(), 8), 0);
  for (const char* net : {"none", "host"}) {
    spec_.net = net;
    expect_refused({"/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"" + path + "\")'"});
  }
}

TEST_F(LandlockPlaceTest, SignalsReachOnlyItsOwnProcesses) {
  if (os::landlock_abi() < 6) GTEST_SKIP() << "this kernel's Landlock does not cover signals";
  expect_refused({"kill -0 $PPID", "kill -CONT $PPID"});
  EXPECT_EQ(inside("sleep 1000 & kill $! && wait $!; echo $? >&3"), "143\n");
}

TEST_F(LandlockPlaceTest, NoPrivilegesAreLeft) {
  EXPECT_EQ(inside("grep -E '^(CapPrm|CapEff|CapAmb|NoNewPrivs|Seccomp):' /proc/self/status | tr -d '\\t' >&3"),
            "CapPrm:0000000000000000\nCapEff:0000000000000000\nCapAmb:0000000000000000\nNoNewPrivs:1\nSeccomp:2\n");
  EXPECT_EQ(inside("unshare -U true 2>/dev/null || echo refused >&3"), "refused\n");
  if (geteuid() == 0) expect_refused({"rm -f $HOME/disk; mknod $HOME/disk b 7 0", "chown 65534 $HOME"});
}

TEST_F(LandlockPlaceTest, DestroyLeavesNothing) {
  const auto place =
      start(landlock_, "cd; mkdir -p a/b; echo x > a/b/c; chmod 0 a; (sleep 1000; :) & echo ready >&3; wait");
  const auto channel = place->connect(Deadline::after(60s));
  char word[6];
  ASSERT_EQ(read(channel->in.get(), word, sizeof(word)), 6);
  EXPECT_FALSE(os::descendants(getpid()).empty());
  ASSERT_TRUE(place->destroy(Deadline::after(10ms)));
  EXPECT_TRUE(os::descendants(getpid()).empty());
  EXPECT_TRUE(fs::is_empty(spec_.directory));
  EXPECT_TRUE(place->destroy(Deadline::after(10ms)));
}

TEST_F(LandlockPlaceTest, APersistentOneKeepsItsWorkspaceOnly) {
  spec_.persistent = true;
  EXPECT_EQ(inside("echo kept > $HOME/f; echo gone > $TMPDIR/f; echo ok >&3"), "ok\n");
  EXPECT_EQ(inside("cat $HOME/f >&3; ls $TMPDIR >&3"), "kept\n");
  EXPECT_FALSE(fs::exists(spec_.directory + "/tmp"));
}

TEST_F(LandlockPlaceTest, AFailedStartLeavesNothing) {
  spec_.cwd = "/nonexistent";
  write_guest("true");
  EXPECT_FALSE(landlock_.start(spec_, Deadline::after(60s)));
  EXPECT_TRUE(fs::is_empty(spec_.directory));
}

TEST_F(LandlockPlaceTest, SessionsGetAHomeInside) {
  const auto place = start(landlock_, "cat <&3");
  SandboxSpec settled = spec_;
  settled.cwd = "/workspace/sub";
  place->settle(settled);
  EXPECT_EQ(settled.cwd, spec_.directory + "/workspace/sub");
  std::string home, tmp;
  for (const auto& [key, value] : settled.env) (key == "HOME" ? home : tmp) = value;
  EXPECT_EQ(home, spec_.directory + "/workspace");
  EXPECT_EQ(tmp, spec_.directory + "/tmp");
}

TEST_F(LandlockPlaceTest, RefusesWhatItCannotHonourByTheOptionsName) {
  const auto expect_option = [&](auto change, const std::string& option) {
    SandboxSpec spec = spec_;
    change(spec);
    const auto refused = landlock_.start(spec, Deadline::after(60s));
    ASSERT_FALSE(refused) << option;
    EXPECT_EQ(refused.error().code, Errc::unsupported);
    EXPECT_NE(refused.error().message.find(option), std::string::npos) << refused.error().message;
  };
  expect_option([](SandboxSpec& s) { s.image = "debian"; }, "--image");
  expect_option([](SandboxSpec& s) { s.net = "full"; }, "--net full");
  expect_option([](SandboxSpec& s) { s.cpus = 1; }, "--cpus");
  expect_option([](SandboxSpec& s) { s.memory_bytes = 1; }, "--memory");
  expect_option([](SandboxSpec& s) { s.pids = 1; }, "--pids");
  expect_option([](SandboxSpec& s) { s.disk_bytes = 1; }, "--disk");
  expect_option([](SandboxSpec& s) { s.volumes = {"/a:/b"}; }, "--volume");
}

TEST_F(LandlockPlaceTest, TheProbeNamesItsVersionAndGuarantees) {
  write_guest("true");
  const Probe probe = landlock_.probe(Deadline::after(60s));
  EXPECT_TRUE(probe.usable) << probe.why_not;
  EXPECT_NE(probe.version.find("version " + std::to_string(os::landlock_abi())), std::string::npos);
  EXPECT_EQ(probe.capabilities.has(Capability::pid), os::landlock_abi() >= 6);
}

}  // namespace
}  // namespace cove::landlock
