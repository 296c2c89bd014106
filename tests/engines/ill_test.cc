// A daemon's bad days, while sandboxes run: what goes on, what is lost, and what is said. Commands run once, or not at
// all.

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>

#include "engines/engine.h"
#include "images/servers.h"

namespace cove::engines {
namespace {

using testing_helpers::slurp;

std::string directory() { return std::getenv("COVE_TEST_ENGINE"); }

void daemon(const std::string& verb, const std::string& option = "") {
  auto program = testing_helpers::start_program({COVE_TEST_ENGINES, verb, "docker", directory(), option});
  ASSERT_TRUE(program) << program.error().text();
  const auto status = program->child.wait(Deadline::after(5min));
  ASSERT_TRUE(status && status->code == 0) << verb;
}

void signal_daemon(int number) { kill(std::stoi(slurp(directory() + "/docker.pid")), number); }

SandboxSpec busybox() {
  SandboxSpec spec = make_spec();
  spec.image = "cove-test:busybox";
  return spec;
}

Result<Sandbox> try_create(const SandboxSpec& spec) { return Sandbox::create(spec, soon()); }

void expect_well_again() {
  Sandbox sandbox = create(busybox());
  EXPECT_EQ(said(sandbox, "echo on"), "on\n");
}

void expect_error(const Result<Sandbox>& made, Errc code, const std::string& remedy) {
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, code) << made.error().text();
  EXPECT_NE(made.error().message.find(remedy), std::string::npos) << made.error().text();
}

// A command that notes on the host that it runs, and goes on until it is told to end.
class Witness {
 public:
  Witness(SandboxSpec& spec, const std::string& name)
      : folder_(home().make_directory(name)), inside_(testing_helpers::shown_inside(spec, folder_)) {}

  void start(Sandbox& sandbox) {
    ended_ = std::async(std::launch::async, [this, &sandbox] {
      return sandbox.run({.script = "echo ran >>" + inside_ + "/runs; until [ -e " + inside_ +
                                    "/go ]; do echo tick; sleep 0.05; done; echo end"},
                         {.output =
                              [this](Stream, std::string_view bytes) {
                                output_ += bytes;
                                heard_ = true;
                              }},
                         soon());
    });
    EXPECT_TRUE(eventually([&] { return !runs().empty() && heard_; }));
  }
  std::string runs() const { return slurp(folder_ + "/runs"); }

  void expect_lost() {
    const auto ended = ended_.get();
    ASSERT_TRUE(ended) << ended.error().text();
    EXPECT_EQ(ended->ending, Ending::lost);
    EXPECT_NE(ended->detail.find("its container is gone"), std::string::npos) << ended->detail;
    EXPECT_NE(output_.find("tick\n"), std::string::npos) << "what it had said is kept";
    EXPECT_EQ(runs(), "ran\n") << "a command is never run again";
  }
  void expect_end() {
    std::ofstream(folder_ + "/go") << "now";
    const auto ended = ended_.get();
    ASSERT_TRUE(ended) << ended.error().text();
    EXPECT_EQ(ended->ending, Ending::exited) << ended->detail;
    EXPECT_TRUE(output_.ends_with("tick\nend\n")) << output_;
    EXPECT_EQ(runs(), "ran\n");
  }

 private:
  std::string folder_, inside_, output_;
  std::atomic<bool> heard_ = false;  // of its output
  std::future<Result<Outcome>> ended_;
};

// A container that is not persistent is made with --rm: such a one goes on while the daemon is away, but docker removes
// it when it comes back.
TEST(Restarted, ADaemonWithLiveRestoreBreaksNoStreamOfAPersistentSandbox) {
  const std::string log = home().root() + "/keeper.log";
  setenv("COVE_LOG", log.c_str(), 1);
  SandboxSpec spec = busybox();
  spec.persistent = true;
  Witness witness(spec, "kept");
  Sandbox sandbox = create(spec);
  unsetenv("COVE_LOG");
  witness.start(sandbox);
  daemon("stop");
  EXPECT_NE(engine("ps").code, 0);
  EXPECT_EQ(said(sandbox, "echo on"), "on\n") << "no daemon is on the path of a command";
  daemon("start");
  EXPECT_EQ(said(sandbox, "echo on"), "on\n");
  witness.expect_end();
  EXPECT_NE(slurp(log).find("sandbox.started"), std::string::npos);
  EXPECT_EQ(slurp(log).find("guest.disconnected"), std::string::npos) << slurp(log);
  ASSERT_TRUE(sandbox.stop({.remove = true}, soon()));
}

TEST(Restarted, ADaemonThatEndsItsContainersLosesTheCommandAndNothingIsRunAgain) {
  SandboxSpec spec = busybox();
  Witness witness(spec, "lost");
  Sandbox sandbox = create(spec);
  witness.start(sandbox);
  daemon("live-restore", "false");
  daemon("stop");
  witness.expect_lost();
  daemon("start");
  daemon("live-restore", "true");
  EXPECT_TRUE(eventually([&] { return containers_of(spec.name).empty(); })) << containers_of(spec.name);
  expect_well_again();
}

TEST(Removed, AContainerThatIsRemovedFromOutsideLosesTheCommand) {
  SandboxSpec spec = busybox();
  Witness witness(spec, "removed");
  Sandbox sandbox = create(spec);
  witness.start(sandbox);
  ASSERT_EQ(engine("rm -f " + containers_of(spec.name)).code, 0);
  witness.expect_lost();
}

TEST(Down, ADaemonThatDoesNotRunIsToldWithTheWayOut) {
  Sandbox before = create(busybox());  // so that what it can do is known and kept
  daemon("stop");
  expect_error(try_create(busybox()), Errc::disconnected, "start it");
  EXPECT_EQ(said(before, "echo on"), "on\n");
  daemon("start");
  expect_well_again();
}

TEST(Hanging, ADaemonThatDoesNotAnswerIsGivenUpInTime) {
  ASSERT_TRUE(create(busybox()).stop({}, soon()));
  setenv("COVE_ENGINE_TIMEOUT", "1", 1);
  const SandboxSpec spec = busybox();
  signal_daemon(SIGSTOP);
  const auto began = Clock::now();
  const auto made = try_create(spec);
  const auto took = Clock::now() - began;
  signal_daemon(SIGCONT);
  unsetenv("COVE_ENGINE_TIMEOUT");
  expect_error(made, Errc::timeout, "COVE_ENGINE_TIMEOUT");
  EXPECT_LT(took, kPatience);
  EXPECT_FALSE(std::filesystem::exists(home().path() + "/sandboxes/" + spec.name));
  // What the daemon does about it afterwards is found.
  EXPECT_TRUE(eventually([&] { return run_cove({"gc"}).code == 0 && containers_of(spec.name).empty(); }))
      << containers_of(spec.name);
}

TEST(Full, ADiskWithoutRoomIsToldWithTheWayOut) {
  const std::string filler = directory() + "/data/filler";
  engine("version; dd if=/dev/zero of=" + filler + " bs=64k 2>/dev/null; dd if=/dev/zero of=" + filler +
         "2 bs=512 2>/dev/null");
  const SandboxSpec spec = busybox();
  const auto made = try_create(spec);
  std::filesystem::remove(filler);
  std::filesystem::remove(filler + "2");
  expect_error(made, Errc::busy, "docker system df");
  EXPECT_EQ(containers_of(spec.name), "");
  expect_well_again();
}

TEST(Denied, ARegistryThatGivesTheImageToOthersOnly) {
  const std::string folder = home().make_directory("registry");
  engine("version >/dev/null; htpasswd -Bbn somebody else >" + folder + "/htpasswd");
  ASSERT_NE(slurp(folder + "/htpasswd"), "") << "htpasswd (apache2-utils) is not installed";
  const image_tests::RegistryServer registry(folder + "/server", folder + "/storage",
                                             "auth: {htpasswd: {realm: tests, path: " + folder + "/htpasswd}}\n");
  SandboxSpec spec = busybox();
  spec.image = registry.host() + "/private:1";
  expect_error(try_create(spec), Errc::denied, "docker login");
  EXPECT_EQ(containers_of(spec.name), "");
}

}  // namespace
}  // namespace cove::engines
