// Where no socket of ours reaches: a daemon over TCP, and gVisor.

#include <csignal>

#include "engines/engine.h"

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

TEST(Runsc, TheKernelInsideIsGvisors) {
  if (backend_name() != "docker") GTEST_SKIP() << "needs docker";
  SandboxSpec spec = make_spec();
  spec.runtime = "runsc";
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
