// Snapshots and forks with memory, on the backend that COVE_TEST_BACKEND names.

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

#include "client/cove.h"
#include "helpers/home.h"
#include "helpers/process.h"
#include "helpers/program.h"

namespace cove {
namespace {

using namespace std::chrono_literals;
using namespace testing_helpers;

// The counter's process and how far it is.
std::pair<int, int> count_in(Sandbox& sandbox) {
  std::pair<int, int> now{0, 0};
  const auto text = sandbox.read_file("/workspace/count", {});
  if (text) std::sscanf(text->c_str(), "%d %d", &now.first, &now.second);
  return now;
}

bool counts_on(Sandbox& sandbox) {
  const int before = count_in(sandbox).second;
  return eventually([&] { return count_in(sandbox).second > before + 2; });
}

// All that runs of it, its keeper first: nobody gets to tidy up.
void kill_everything_of(const Sandbox& sandbox) {
  const std::string lock = slurp(home().path() + "/sandboxes/" + sandbox.name() + "/lock");
  const auto keeper = static_cast<pid_t>(std::atoi(lock.c_str()));
  ASSERT_GT(keeper, 1);
  std::vector<pid_t> all{keeper};
  for (const pid_t pid : descendants_of(keeper)) all.push_back(pid);
  for (const pid_t pid : all) kill(pid, SIGKILL);
  ASSERT_TRUE(eventually([&] { return std::none_of(all.begin(), all.end(), alive); }));
}

class Memory : public testing::Test {
 protected:
  void SetUp() override {
    auto made = Sandbox::create(make_spec(), {});
    ASSERT_TRUE(made) << made.error().text();
    sandbox_.emplace(std::move(*made));
    const auto id = sandbox_->start(
        {.script = "i=0; while :; do i=$((i+1)); echo $i; echo $$ $i >count.new; mv count.new count; sleep .05; done"},
        {});
    ASSERT_TRUE(id) << id.error().text();
    id_ = *id;
    ASSERT_TRUE(eventually([&] { return count_in(*sandbox_).second > 3; }));
    const auto changed = sandbox_->sh("cd /tmp; x=5; f() { echo $x $PWD $1; }");
    ASSERT_TRUE(changed) << changed.error().text();
  }
  void TearDown() override {
    sandbox_.reset();
    run_cove({"snapshot", "rm", "running"});
  }
  // False: not here, for a reason that was found out by trying.
  bool saved() {
    const auto saved = sandbox_->snapshot("running", {}, Saved::memory);
    if (saved) return true;
    EXPECT_EQ(saved.error().code, Errc::unsupported) << saved.error().text();
    why_not_ = saved.error().message;
    return false;
  }
  Result<Sandbox> create_from(const std::string& tag) {
    SandboxSpec spec;
    spec.backend = backend_name();
    spec.owned = true;
    spec.from = tag;
    return Sandbox::create(spec, {});
  }
  // Its session is the one that was, and the keeper knows the command that runs.
  void expect_that_it_goes_on(Sandbox& sandbox) {
    const auto said = sandbox.sh("f on");
    ASSERT_TRUE(said) << said.error().text();
    EXPECT_EQ(said->output, "5 /tmp on\n");
    const auto state = sandbox.status(id_);
    ASSERT_TRUE(state) << state.error().text();
    EXPECT_EQ(state->ending, Ending::running);
  }
  std::optional<Sandbox> sandbox_;
  std::string id_, why_not_;
};

TEST_F(Memory, ACounterGoesOnFromASnapshotAfterEverythingWasKilled) {
  const auto before = count_in(*sandbox_);
  if (!saved()) GTEST_SKIP() << why_not_;
  kill_everything_of(*sandbox_);
  auto again = create_from("running");
  ASSERT_TRUE(again) << again.error().text();
  const auto after = count_in(*again);
  EXPECT_EQ(after.first, before.first);  // it is the same process, not a new one
  EXPECT_GE(after.second, before.second);
  EXPECT_TRUE(counts_on(*again));
  expect_that_it_goes_on(*again);
  // What it wrote to its output since is all there, in order.
  ASSERT_TRUE(again->signal(id_, {.signal = 9}));
  std::string output;
  const auto outcome = again->attach({.id = id_}, {.output = [&](Stream, std::string_view bytes) { output += bytes; }},
                                     {.deadline = Deadline::after(kPatience)});
  ASSERT_TRUE(outcome) << outcome.error().text();
  EXPECT_EQ(outcome->signal, 9);
  std::string wanted;
  const int first = std::atoi(output.c_str());
  EXPECT_GE(first, before.second);
  for (int i = first; wanted.size() < output.size(); ++i) wanted += std::to_string(i) + "\n";
  EXPECT_EQ(output, wanted);
}

TEST_F(Memory, ForksAndTheOriginalCountOnEachForItself) {
  const auto before = count_in(*sandbox_);
  auto forks = sandbox_->fork(2, {}, Saved::memory);
  if (!forks && forks.error().code == Errc::unsupported) GTEST_SKIP() << forks.error().message;
  ASSERT_TRUE(forks) << forks.error().text();
  for (Sandbox* one : {&*sandbox_, &forks->at(0), &forks->at(1)}) {
    EXPECT_EQ(count_in(*one).first, before.first);
    EXPECT_TRUE(counts_on(*one)) << one->name();
    expect_that_it_goes_on(*one);
  }
  // What happens in one happens in no other.
  ASSERT_TRUE(forks->at(0).sh("echo mine >/workspace/own"));
  ASSERT_TRUE(forks->at(0).signal(id_, {.signal = 9}));
  EXPECT_FALSE(forks->at(1).read_file("/workspace/own"));
  EXPECT_FALSE(sandbox_->read_file("/workspace/own"));
  EXPECT_TRUE(counts_on(forks->at(1)));
  EXPECT_TRUE(counts_on(*sandbox_));
  const auto ended = forks->at(0).status(id_);
  ASSERT_TRUE(ended) << ended.error().text();
  EXPECT_NE(ended->ending, Ending::running);
}

TEST_F(Memory, ASandboxGoesBackToWhatRanInIt) {
  const auto before = count_in(*sandbox_);
  if (!saved()) GTEST_SKIP() << why_not_;
  ASSERT_TRUE(sandbox_->signal(id_, {.signal = 9}));
  ASSERT_TRUE(sandbox_->sh("x=6; echo later >/workspace/later"));
  const auto back = sandbox_->restore("running");
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(count_in(*sandbox_).first, before.first);
  EXPECT_TRUE(counts_on(*sandbox_));
  EXPECT_FALSE(sandbox_->read_file("/workspace/later"));
  expect_that_it_goes_on(*sandbox_);
}

TEST_F(Memory, ASnapshotWithMemoryIsToldFromOthersAndStaysHere) {
  if (!saved()) GTEST_SKIP() << why_not_;
  EXPECT_NE(run_cove({"snapshots"}).out.find(" yes "), std::string::npos);
  EXPECT_NE(run_cove({"snapshots", "--json"}).out.find("\"memory\": true"), std::string::npos);
  const Done exported = run_cove({"snapshot", "export", "running", home().root() + "/running.tar"});
  EXPECT_NE(exported.code, 0);
  EXPECT_NE(exported.err.find("has memory, which no image holds"), std::string::npos) << exported.err;
  const Done other = run_cove({"create", "--from", "running", "-e", "A=b", "other"});
  EXPECT_NE(other.err.find("leave -e, --forward-env and -w out"), std::string::npos) << other.err;
  const Done walls = run_cove({"create", "--from", "running", "--net", "host", "other"});
  EXPECT_NE(walls.err.find("leave --net out"), std::string::npos) << walls.err;
  EXPECT_EQ(run_cove({"snapshot", "rm", "running"}).code, 0);
  EXPECT_FALSE(create_from("running"));
  EXPECT_TRUE(counts_on(*sandbox_));
}

TEST_F(Memory, SavedOrRefusedItGoesOn) {
  if (!saved()) {
    EXPECT_NE(why_not_.find("--backend gvisor"), std::string::npos) << why_not_;
  }
  EXPECT_TRUE(counts_on(*sandbox_));
  expect_that_it_goes_on(*sandbox_);
}

// Where files are sealed while nothing runs, what runs goes on afterwards.
TEST_F(Memory, FilesAloneAreSavedForkedComparedAndTakenBackWhileACounterRuns) {
  ASSERT_TRUE(sandbox_->sh("echo one >/workspace/file"));
  const auto saved = sandbox_->snapshot("running");
  if (!saved && saved.error().code == Errc::unsupported) GTEST_SKIP() << saved.error().message;
  ASSERT_TRUE(saved) << saved.error().text();
  EXPECT_TRUE(counts_on(*sandbox_));
  ASSERT_TRUE(sandbox_->sh("echo two >/workspace/file; echo three >/workspace/more"));
  auto forks = sandbox_->fork(1);
  ASSERT_TRUE(forks) << forks.error().text();
  EXPECT_EQ(forks->at(0).read_file("/workspace/file").value_or(""), "two\n");
  const auto said = forks->at(0).sh("f on");
  ASSERT_TRUE(said) << said.error().text();
  EXPECT_EQ(said->output, "5 /tmp on\n");
  const Done diff = run_cove({"diff", sandbox_->name(), "/workspace", "--from", "running", "--names"});
  EXPECT_NE(diff.out.find("M workspace/file"), std::string::npos) << diff.out << diff.err;
  EXPECT_NE(diff.out.find("A workspace/more"), std::string::npos) << diff.out << diff.err;
  ASSERT_TRUE(sandbox_->signal(id_, {.signal = 9}));
  ASSERT_TRUE(sandbox_->attach({.id = id_}, {}, {.deadline = Deadline::after(kPatience)}));
  const auto back = sandbox_->restore("running");
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(sandbox_->read_file("/workspace/file").value_or(""), "one\n");
  EXPECT_FALSE(sandbox_->read_file("/workspace/more"));
}

TEST_F(Memory, ACommandIsUndone) {
  ASSERT_TRUE(sandbox_->signal(id_, {.signal = 9}));
  const auto on = sandbox_->checkpoint(true);
  if (!on && on.error().code == Errc::unsupported) GTEST_SKIP() << on.error().message;
  ASSERT_TRUE(on) << on.error().text();
  ASSERT_TRUE(sandbox_->sh("echo one >/workspace/file"));
  ASSERT_TRUE(sandbox_->sh("echo two >/workspace/file; x=6"));
  const auto undone = sandbox_->undo();
  ASSERT_TRUE(undone) << undone.error().text();
  EXPECT_EQ(sandbox_->read_file("/workspace/file").value_or(""), "one\n");
  const auto said = sandbox_->sh("f on");
  ASSERT_TRUE(said) << said.error().text();
  EXPECT_EQ(said->output, "5 /tmp on\n");
}

}  // namespace
}  // namespace cove

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  cove::testing_helpers::home();
  const int code = RUN_ALL_TESTS();
  cove::testing_helpers::run_cove({"gc"});  // the control group of whom a test has killed
  std::string left;
  cove::testing_helpers::eventually([&] { return (left = cove::testing_helpers::home().leftovers()).empty(); });
  if (!left.empty()) std::fprintf(stderr, "left: %s\n", left.c_str());
  return left.empty() ? code : 1;
}
