// Where no socket of ours reaches: a daemon over TCP or ssh, and gVisor.

#include <csignal>

#include "engines/engine.h"
#include "images/servers.h"

namespace cove::engines {
namespace {

using testing_helpers::slurp;

class Elsewhere : public ::testing::Test {
 protected:
  void SetUp() override {
    if (backend_name() != "docker") GTEST_SKIP() << "needs a daemon";
    const char* directory = std::getenv("COVE_TEST_ENGINE");
    before_ = std::getenv("DOCKER_HOST");
    std::string port = slurp(std::string(directory) + "/port");
    port.erase(port.find_last_not_of('\n') + 1);
    setenv("DOCKER_HOST", ("tcp://127.0.0.1:" + port).c_str(), 1);
  }
  void TearDown() override {
    if (!before_.empty()) setenv("DOCKER_HOST", before_.c_str(), 1);
  }
  std::string before_;
};

std::vector<pid_t> relays_of(const std::string& name) {
  std::vector<pid_t> all;
  for (const pid_t pid : testing_helpers::children_of(keeper_of(name))) {
    if (testing_helpers::command_line(pid).find("--relay") != std::string::npos) all.push_back(pid);
  }
  return all;
}

TEST_F(Elsewhere, TheGuestIsCopiedInAndABrokenStreamLosesNothing) {
  const SandboxSpec spec = make_spec();
  Sandbox sandbox = create(spec);
  EXPECT_EQ(said(sandbox, "cd /opt; echo $GREETING; id -u"), "hello\n0\n");
  ASSERT_EQ(relays_of(spec.name).size(), 1U);
  const auto job = sandbox.start({.script = "for i in $(seq 40); do echo $i; sleep 0.05; done"}, soon());
  ASSERT_TRUE(job) << job.error().text();
  const pid_t relay = relays_of(spec.name)[0];
  kill(relay, SIGKILL);
  std::string output, expected;
  for (int i = 1; i <= 40; ++i) expected += std::to_string(i) + "\n";
  const auto ended =
      sandbox.attach({.id = *job}, {.output = [&](Stream, std::string_view bytes) { output += bytes; }}, soon());
  ASSERT_TRUE(ended) << ended.error().text();
  EXPECT_EQ(ended->ending, Ending::exited);
  EXPECT_EQ(output, expected);
  EXPECT_EQ(said(sandbox, "pwd"), "/opt\n");
  EXPECT_NE(relays_of(spec.name).at(0), relay);
}

// A real sshd on the loopback, and a client that knows its way. Who logs in has a home of its own there: what this
// machine's root has in its start-up files may take as long as it likes.
TEST_F(Elsewhere, ADaemonOverSshIsReachedTheSameWay) {
  const std::string folder = home().make_directory("ssh"), port = image_tests::free_port();
  const auto bash = [](const std::string& line) { return testing_helpers::start_program({"/bin/bash", "-ec", line}); };
  auto made =
      bash("cd " + folder + "; command -v sshd /usr/sbin/sshd >/dev/null; mkdir -p /run/sshd bin; " +
           "for k in host user; do ssh-keygen -q -t ed25519 -N '' -f $k; done; "
           "printf 'IdentityFile %s/user\nUserKnownHostsFile /dev/null\nStrictHostKeyChecking no\nBatchMode yes\n"
           "LogLevel ERROR\n' $PWD >client; "
           "printf '#!/bin/sh\nexec /usr/bin/ssh -F %s/client \"$@\"\n' $PWD >bin/ssh; chmod +x bin/ssh; "
           "printf 'ListenAddress 127.0.0.1:%s\nHostKey %s/host\nAuthorizedKeysFile %s/user.pub\nStrictModes no\n"
           "UsePAM no\nPidFile none\nPermitRootLogin yes\nSetEnv HOME=%s DOCKER_HOST=%s\n' " +
           port + " $PWD $PWD $PWD '" + before_ + "' >server");
  ASSERT_TRUE(made) << made.error().text();
  if (made->finish() != 0) GTEST_SKIP() << "no sshd can be run here: " << made->heard;
  auto server = testing_helpers::start_program({"/usr/sbin/sshd", "-D", "-e", "-f", folder + "/server"});
  ASSERT_TRUE(server) << server.error().text();
  ASSERT_TRUE(server->says("listening")) << server->heard;
  const std::string path = std::getenv("PATH");
  setenv("PATH", (folder + "/bin:" + path).c_str(), 1);
  setenv("DOCKER_HOST", ("ssh://root@127.0.0.1:" + port).c_str(), 1);
  const SandboxSpec spec = make_spec();
  {
    Sandbox sandbox = create(spec);
    EXPECT_EQ(said(sandbox, "cd /opt; echo $GREETING"), "hello\n");
    EXPECT_EQ(said(sandbox, "pwd"), "/opt\n");
    EXPECT_EQ(relays_of(spec.name).size(), 1U);
    EXPECT_TRUE(sandbox.stop({}, soon()));
  }
  setenv("PATH", path.c_str(), 1);
  setenv("DOCKER_HOST", before_.c_str(), 1);
  EXPECT_EQ(containers_of(spec.name), "");
}

TEST(Runsc, TheKernelInsideIsGvisors) {
  if (backend_name() != "docker") GTEST_SKIP() << "needs docker";
  SandboxSpec spec = make_spec();
  spec.set_option("runtime", "runsc");
  auto sandbox = Sandbox::create(spec, soon());
  if (!sandbox && sandbox.error().message.find("--runtime runsc") != std::string::npos)
    GTEST_SKIP() << sandbox.error().message;
  ASSERT_TRUE(sandbox) << sandbox.error().text();
  EXPECT_NE(said(*sandbox, "dmesg").find("gVisor"), std::string::npos) << said(*sandbox, "dmesg");
  EXPECT_EQ(said(*sandbox, "X=1; cd /tmp; echo ok"), "ok\n");
  EXPECT_EQ(said(*sandbox, "echo $X; pwd"), "1\n/tmp\n");
}

}  // namespace
}  // namespace cove::engines
