// kill -9 of keeper, owner or guest of a native sandbox at random moments of its whole life, many times. Afterwards,
// and after one look and one more start, nothing of them is there.

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <filesystem>
#include <map>
#include <optional>
#include <random>
#include <sstream>
#include <thread>

#include "client/nursery.h"
#include "faults/fixture.h"
#include "helpers/program.h"
#include "os/limits.h"

namespace cove::faults {
namespace {

namespace fs = std::filesystem;
using testing_helpers::describe;
using testing_helpers::processes_with_env;

enum class Victim : unsigned char { keeper, owner, guest };

// A guest has no environment and sees no file of ours; it is known by its program, of which these tests have a copy.
std::string own_guest() {
  static const std::string path = [] {
    const std::string copy = home().root() + "/cove-guest";
    fs::copy_file(std::getenv("COVE_GUEST"), copy);
    return copy;
  }();
  return path;
}

std::vector<pid_t> guests() {
  struct stat ours{}, theirs{};
  std::vector<pid_t> found;
  if (stat(own_guest().c_str(), &ours) < 0) return found;
  std::error_code gone;
  for (const auto& entry : fs::directory_iterator("/proc", gone)) {
    const bool same = stat((entry.path() / "exe").c_str(), &theirs) == 0 && theirs.st_ino == ours.st_ino &&
                      theirs.st_dev == ours.st_dev;
    if (same) found.push_back(std::atoi(entry.path().filename().c_str()));
  }
  return found;
}

// Keepers, guests and all that runs inside.
std::vector<pid_t> running() {
  auto pids = processes_with_env("COVE_HOME=" + home().path());
  std::erase(pids, getpid());
  for (const auto& more : {processes_with_env(home().mark()), guests()})
    pids.insert(pids.end(), more.begin(), more.end());
  return pids;
}

SandboxSpec owned_spec() {
  SandboxSpec spec = make_spec();
  set_env(spec, "FAULT_MARK", spec.name);
  if (!os::probe_limits().memory.empty()) spec.memory_bytes = 64U << 20;
  testing_helpers::shown_inside(spec, home().make_directory("volume"));
  return spec;
}

// Its whole life, in a process that can be killed.
[[noreturn]] void own(const SandboxSpec& spec) {
  auto sandbox = Sandbox::create(spec, soon());
  if (!sandbox) _exit(1);
  (void)sandbox->run({.script = "(setsid sleep 99 &); echo x >/shown/volume/x; sleep .005"}, {}, soon());
  (void)sandbox->stop({.remove = true, .grace_ms = 0}, soon());
  _exit(0);
}

pid_t keeper_of_owner(const std::string& name, pid_t owner) {
  if (const pid_t keeper = keeper_of(name); keeper > 0) return keeper;
  for (const pid_t pid : processes_with_env("COVE_HOME=" + home().path())) {
    if (pid != getpid() && pid != owner && testing_helpers::command_line(pid).find(" keeper") != std::string::npos)
      return pid;
  }
  return 0;
}

// 0: there is none at this moment.
pid_t find(Victim victim, const std::string& name, pid_t owner) {
  if (victim == Victim::owner) return owner;
  const pid_t keeper = keeper_of_owner(name, owner);
  if (victim == Victim::keeper || keeper == 0) return keeper;
  const auto children = testing_helpers::children_of(keeper);
  return children.empty() ? 0 : children.front();
}

// The owner's end; nobody waits for ever.
bool reap(pid_t owner) {
  const auto ended = [&] { return waitpid(owner, nullptr, WNOHANG) == owner; };
  if (eventually(ended)) return true;
  kill(owner, SIGKILL);
  waitpid(owner, nullptr, 0);
  return false;
}

class NativeKills : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("COVE_TEST_BACKEND", "native", 1);
    setenv("COVE_GUEST", own_guest().c_str(), 1);
    const char* wanted = std::getenv("COVE_TEST_KILLS");
    const int rounds = wanted != nullptr
                           ? std::atoi(wanted)
                           : static_cast<int>(500 / (testing_helpers::slack() * testing_helpers::slack()));
    const char* given = std::getenv("COVE_TEST_SEED");
    const unsigned seed = given != nullptr ? static_cast<unsigned>(std::stoul(given)) : std::random_device{}();
    std::printf("seed %u, %d kills, memory limited by '%s'\n", seed, rounds, os::probe_limits().memory.c_str());
    measure();
    Nursery::of_this_process().close();  // the keepers in it are nobody's victims
    std::mt19937 random(seed);
    while (!why_not_ && total() < rounds) kill_once(random);
    std::printf("killed: %d keepers, %d owners, %d guests; a whole life takes %.1f ms\n", killed_[Victim::keeper],
                killed_[Victim::owner], killed_[Victim::guest], life_.count() * 1e3);
    if (!why_not_) look_and_start_again();
    Nursery::of_this_process().close();
  }
  void SetUp() override {
    if (why_not_) GTEST_SKIP() << *why_not_;
  }

 private:
  // How long a life takes when nobody disturbs it; and whether there can be one.
  static void measure() {
    for (int i = 0; i < 3; ++i) {
      const SandboxSpec spec = owned_spec();
      if (auto sandbox = Sandbox::create(spec, soon()); !sandbox) {
        why_not_ = sandbox.error().text();
        return;
      }
      const SandboxSpec again = owned_spec();
      const auto begin = Clock::now();
      const pid_t owner = fork();
      if (owner == 0) own(again);
      EXPECT_TRUE(reap(owner));
      life_ = Clock::now() - begin;
    }
  }

  static void kill_once(std::mt19937& random) {
    const SandboxSpec spec = owned_spec();
    const auto victim = static_cast<Victim>(random() % 3);
    const auto moment = life_ * (static_cast<double>(random() % 1000) / 1000.0);
    const pid_t owner = fork();
    if (owner == 0) own(spec);
    std::this_thread::sleep_for(moment);  // the random moment itself, not a way to wait for something
    const pid_t pid = find(victim, spec.name, owner);
    if (pid > 0 && kill(pid, SIGKILL) == 0) ++killed_[victim];
    EXPECT_TRUE(reap(owner)) << spec.name << ": its owner hangs after the end of pid " << pid;
  }

  static int total() { return killed_[Victim::keeper] + killed_[Victim::owner] + killed_[Victim::guest]; }

  // What nobody has locked is only taken for left over when it is a minute old: it may be about to be locked.
  static void let_a_minute_pass() {
    std::error_code none;
    const timespec past{std::time(nullptr) - 120, 0}, times[2] = {past, past};
    for (const auto& entry : fs::directory_iterator(home().path() + "/sandboxes", none)) {
      utimensat(AT_FDCWD, entry.path().c_str(), times, AT_SYMLINK_NOFOLLOW);
    }
  }

  static void look_and_start_again() {
    eventually([] { return running().empty(); });
    let_a_minute_pass();
    const Sandbox one = create(owned_spec());
    EXPECT_EQ(testing_helpers::run_cove({"ls"}).code, 0);
  }

  static inline std::map<Victim, int> killed_;
  static inline Seconds life_{0};
  static inline std::optional<std::string> why_not_;
};

TEST_F(NativeKills, LeaveNoProcess) {
  EXPECT_TRUE(eventually([] { return running().empty(); })) << describe(running());
}

TEST_F(NativeKills, LeaveNoMount) {
  std::istringstream mounts(testing_helpers::slurp("/proc/self/mountinfo"));
  for (std::string line; std::getline(mounts, line);) EXPECT_EQ(line.find(home().root()), std::string::npos) << line;
}

TEST_F(NativeKills, LeaveNoDirectory) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(home().path() + "/sandboxes", none)) ADD_FAILURE() << entry.path();
}

TEST_F(NativeKills, LeaveNoControlGroup) {
  const std::string ours = "t" + std::to_string(getpid()) + "-";
  std::vector<std::string> left = os::find_limit_groups();
  std::erase_if(left, [&](const std::string& name) { return !name.starts_with(ours); });
  EXPECT_EQ(left, std::vector<std::string>{});
}

}  // namespace
}  // namespace cove::faults
