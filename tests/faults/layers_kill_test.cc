// kill -9 of the keeper at random moments while files are sealed, taken back and restored, and of `cove apply` while it
// writes. What is there afterwards is one of the states that were right at that moment, and nothing else.

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "faults/fixture.h"
#include "helpers/program.h"
#include "record/snapshots.h"

namespace cove::faults {
namespace {

namespace fs = std::filesystem;
using testing_helpers::run_cove;

std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> names;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) names.insert(entry.path().filename());
  return names;
}

// What is new may not be written down yet, so it is left for a while.
void let_hours_pass(const std::string& folder) {
  const timespec past{std::time(nullptr) - 7200, 0}, times[2] = {past, past};
  for (const std::string& name : names_in(folder))
    utimensat(AT_FDCWD, (folder + "/" + name).c_str(), times, AT_SYMLINK_NOFOLLOW);
}

std::mt19937 make_random() {
  const char* given = std::getenv("COVE_TEST_SEED");
  const unsigned seed = given != nullptr ? static_cast<unsigned>(std::stoul(given)) : std::random_device{}();
  std::printf("seed %u\n", seed);
  return std::mt19937(seed);
}

int rounds_or(int otherwise) {
  const char* wanted = std::getenv("COVE_TEST_KILLS");
  return wanted != nullptr ? std::atoi(wanted) : static_cast<int>(otherwise / testing_helpers::slack());
}

// A number in each of two overlays. A command writes first the one, then the other.
using State = std::string;
State state_of(int first, int second) { return std::to_string(first) + "\n" + std::to_string(second) + "\n"; }

// With them a command's changes are sealed at once; without, they are in the sandbox's own layer until a snapshot.
enum class Checkpoints : unsigned char { no, yes };

// A persistent sandbox, what its files are, and what they may be if the request that is under way is cut off.
class Victim {
 public:
  Victim(std::mt19937& random, Checkpoints checkpoints) : random_(random), checkpoints_(checkpoints) {
    SandboxSpec spec = lasting_spec();
    spec.persistent = true;
    spec.checkpoint = checkpoints == Checkpoints::yes;
    name_ = spec.name;
    auto made = Sandbox::create(spec, soon());
    if (!made) why_not_ = made.error().text();
    if (made) act([&](Sandbox& sandbox) { return write(sandbox); });
  }
  const std::string& why_not() const { return why_not_; }
  const std::string& name() const { return name_; }

  // A few requests, until the keeper is gone.
  void act_until_killed() {
    while (act([&](Sandbox& sandbox) { return act_once(sandbox); })) {}
  }

  void start_again() {
    auto sandbox = Sandbox::restart(name_, soon());
    ASSERT_TRUE(sandbox) << sandbox.error().text();
    const auto look = sandbox->sh("for f in /workspace/f /usr/local/f; do cat $f 2>/dev/null || echo; done", soon());
    ASSERT_TRUE(look) << look.error().text();
    ASSERT_EQ(look->outcome.ending, Ending::exited) << look->outcome.error_text;
    ASSERT_EQ(look->outcome.exit_code, 0) << look->output << look->outcome.error_text;
    std::string legal;
    for (const State& one : legal_) legal += "[" + one + "] ";
    EXPECT_TRUE(legal_.contains(look->output)) << look->output << "is none of " << legal << "; last was " << last_;
    now_ = look->output;
    legal_ = {now_};
    before_.clear();
    if (!cut_tag_.empty() && record::find_snapshot(cut_tag_)) tags_[cut_tag_] = now_;
    cut_tag_.clear();
  }

 private:
  template <class Request>
  bool act(Request request) {
    auto sandbox = Sandbox::open(name_);
    return sandbox && request(*sandbox);
  }
  bool done(const State& after) {
    now_ = after;
    legal_ = {now_};
    cut_tag_.clear();
    return true;
  }

  bool act_once(Sandbox& sandbox) {
    switch (random_() % 5) {
      case 0: return snapshot(sandbox);
      case 1: return before_.empty() ? write(sandbox) : undo(sandbox);
      case 2: return tags_.empty() ? write(sandbox) : restore(sandbox);
      default: return write(sandbox);
    }
  }
  bool write(Sandbox& sandbox) {
    last_ = "write";
    const int next = ++number_;
    const std::string n = std::to_string(next), second = now_.substr(now_.find('\n') + 1);
    legal_ = {now_, n + "\n" + second, state_of(next, next)};
    const auto wrote = sandbox.sh("echo " + n + " > /workspace/.f; mv /workspace/.f /workspace/f; echo " + n +
                                      " > /usr/local/.f; mv /usr/local/.f /usr/local/f",
                                  soon());
    if (!wrote || wrote->outcome.ending != Ending::exited) return false;
    if (checkpoints_ == Checkpoints::yes) before_.push_back(now_);
    return done(state_of(next, next));
  }
  bool snapshot(Sandbox& sandbox) {
    last_ = "snapshot";
    const std::string tag = "k" + std::to_string(random_() % 3);
    if (tags_.erase(tag) > 0) {
      EXPECT_TRUE(record::remove_snapshot(tag));
    }
    cut_tag_ = tag;
    if (!sandbox.snapshot(tag, soon())) return false;
    tags_[tag] = now_;
    return done(now_);
  }
  bool undo(Sandbox& sandbox) {
    last_ = "undo";
    const State back = before_.back();
    legal_ = {now_, back};
    if (!sandbox.undo(1, soon())) return false;
    before_.pop_back();
    return done(back);
  }
  bool restore(Sandbox& sandbox) {
    last_ = "restore";
    const auto& [tag, state] = *std::next(tags_.begin(), static_cast<std::ptrdiff_t>(random_() % tags_.size()));
    legal_ = {now_, state};
    if (!sandbox.restore(tag, soon())) return false;
    before_.clear();
    return done(state);
  }

  std::mt19937& random_;
  Checkpoints checkpoints_;
  std::string name_, why_not_, last_, cut_tag_;
  int number_ = 0;
  State now_ = "\n\n";  // there are no files yet
  std::set<State> legal_;
  std::vector<State> before_;
  std::map<std::string, State> tags_;
};

class LayerKills : public Faults {
 protected:
  void SetUp() override { setenv("COVE_TEST_BACKEND", "native", 1); }

  void kill_many(Checkpoints checkpoints);
  static void expect_no_trace() {
    const auto tags = record::list_snapshots();
    ASSERT_TRUE(tags) << tags.error().text();
    for (const auto& one : *tags) EXPECT_TRUE(record::remove_snapshot(one.tag));
    eventually([] { return home().leftovers().empty(); });
    for (const char* folder : {"/layers", "/snapshots", "/sandboxes"}) let_hours_pass(home().path() + folder);
    const auto gc = run_cove({"gc"});
    EXPECT_EQ(gc.code, 0) << gc.err;
    EXPECT_EQ(names_in(home().path() + "/layers"), std::set<std::string>{});
    EXPECT_EQ(names_in(home().path() + "/snapshots"), std::set<std::string>{});
    std::istringstream mounts(testing_helpers::slurp("/proc/self/mountinfo"));
    for (std::string line; std::getline(mounts, line);) EXPECT_EQ(line.find(home().root()), std::string::npos) << line;
  }
};

void LayerKills::kill_many(Checkpoints checkpoints) {
  std::mt19937 random = make_random();
  Victim victim(random, checkpoints);
  if (!victim.why_not().empty()) GTEST_SKIP() << victim.why_not();
  const int rounds = rounds_or(200);
  const Deadline enough = Deadline::after(30s);
  int round = 0;
  for (; round < rounds && !enough.passed() && !HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const pid_t keeper = keeper_of(victim.name());
    ASSERT_GT(keeper, 0);
    std::jthread killer([&, moment = std::chrono::microseconds(random() % 60'000)] {
      std::this_thread::sleep_for(moment);  // the random moment itself, not a way to wait for something
      kill(keeper, SIGKILL);
    });
    victim.act_until_killed();
    killer.join();
    victim.start_again();
  }
  std::printf("%d kills\n", round);
  EXPECT_TRUE(Sandbox::remove(victim.name(), soon()));
  expect_no_trace();
}

TEST_F(LayerKills, LeaveAStateThatWasRightAtThatMoment) { kill_many(Checkpoints::no); }
TEST_F(LayerKills, LeaveAStateThatWasRightAtThatMomentAlsoWithCheckpoints) { kill_many(Checkpoints::yes); }

// Files of one generation are all alike, and too long to be written in one go.
std::string contents(int generation) { return std::string(200'000, static_cast<char>('a' + generation % 26)); }

TEST_F(LayerKills, OfApplyLeaveWholeFilesAndTheNextOneFinishes) {
  constexpr int kFiles = 30;
  std::mt19937 random = make_random();
  const std::string host = home().make_directory("host");
  for (int i = 0; i < kFiles; ++i) std::ofstream(host + "/" + std::to_string(i)) << contents(0);
  SandboxSpec spec = lasting_spec();
  spec.volumes = {host + ":/workspace:cow"};
  auto sandbox = Sandbox::create(spec, soon());
  if (!sandbox) GTEST_SKIP() << sandbox.error().text();
  const Deadline enough = Deadline::after(30s);
  const auto count = [&](int generation) {
    int found = 0;
    for (const std::string& name : names_in(host))
      found += !name.starts_with('.') && testing_helpers::slurp(host + "/" + name) == contents(generation) ? 1 : 0;
    return found;
  };
  for (int round = 1; round <= rounds_or(40) && !enough.passed() && !HasFailure(); ++round) {
    const std::string letter(1, static_cast<char>('a' + round % 26));
    ASSERT_TRUE(
        sandbox->sh("for i in $(seq 0 29); do head -c 200000 /dev/zero | tr '\\0' " + letter + " > $i; done", soon()));
    if (round % 3 == 0) {
      ASSERT_TRUE(sandbox->snapshot("a" + std::to_string(round), soon()));
    }
    auto apply = testing_helpers::start_program({testing_helpers::cove_program(), "apply", spec.name});
    ASSERT_TRUE(apply) << apply.error().text();
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 60'000));  // the random moment itself
    (void)apply->child.signal(SIGKILL);
    ASSERT_TRUE(apply->child.wait(Deadline::after(kPatience)));
    EXPECT_EQ(count(round - 1) + count(round), kFiles) << "round " << round << ": half a file, or none";
    const auto again = run_cove({"apply", spec.name});
    EXPECT_EQ(again.code, 0) << again.err;
    EXPECT_EQ(count(round), kFiles) << "round " << round;
    EXPECT_EQ(names_in(host).size(), static_cast<std::size_t>(kFiles)) << "something was left aside";
  }
  EXPECT_TRUE(sandbox->stop({.remove = true}, soon()));
  expect_no_trace();
}

}  // namespace
}  // namespace cove::faults
