// G: how sandboxes end, come back and hold their limits, cases 100-105.

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <future>
#include <optional>
#include <thread>

#include "conformance/fixture.h"
#include "helpers/program.h"
#include "record/record.h"

namespace cove::conformance {
namespace {

namespace fs = std::filesystem;
using testing_helpers::processes_with_env;

Call soon() { return {.deadline = Deadline::after(5min), .stop = {}}; }

// One that does not end with us, and whose processes can be told from others'.
SandboxSpec lasting_spec() {
  SandboxSpec spec = make_spec();
  spec.owned = false;
  set_env(spec, "LIFE_MARK", spec.name);
  return spec;
}

std::string directory_of(const std::string& name) { return home().path() + "/sandboxes/" + name; }

std::vector<pid_t> processes_of(const std::string& name) { return processes_with_env("LIFE_MARK=" + name); }

pid_t keeper_of(const std::string& name) {
  const auto record = record::Record::open(name);
  const auto info = record ? record->info() : Result<record::Info>(fail(record.error()));
  return info ? info->keeper_pid : 0;
}

// Not by opening it: whoever asks is company.
bool ends_by_itself(const std::string& name) {
  const pid_t keeper = keeper_of(name);
  return eventually([&] { return !testing_helpers::alive(keeper) && processes_of(name).empty(); });
}

void expect_gone(const std::string& name) {
  EXPECT_TRUE(eventually([&] { return processes_of(name).empty(); })) << testing_helpers::describe(processes_of(name));
  EXPECT_FALSE(fs::exists(directory_of(name)));
  const auto opened = Sandbox::open(name);
  EXPECT_TRUE(!opened && opened.error().code == Errc::not_found);
}

// Where the backend's own files are: on `local` the host's, which outlive every sandbox.
std::string kept_file(const SandboxSpec& spec) { return spec.cwd + "/kept-" + spec.name; }

TEST_F(Contract, Case100_WhatIsNotPersistentGoesWithItsStopAndRemoval) {
  const SandboxSpec spec = lasting_spec();
  Sandbox sandbox = create(spec);
  EXPECT_RAN(run(sandbox, {.script = "echo 1 >" + kept_file(spec)}), 0, "");
  ASSERT_TRUE(sandbox.stop({}, soon()));
  const auto again = Sandbox::restart(spec.name, soon());
  EXPECT_FALSE(again) << "it came back";
  const auto removed = Sandbox::remove(spec.name, soon());
  EXPECT_TRUE(removed || removed.error().code == Errc::not_found) << removed.error().text();
  expect_gone(spec.name);
}

TEST_F(Contract, Case100_APersistentOneHasItsFilesAndSessionAfterARestart) {
  SandboxSpec spec = lasting_spec();
  spec.persistent = true;
  {
    Sandbox sandbox = create(spec);
    EXPECT_RAN(run(sandbox, {.script = "echo 1 >" + kept_file(spec) + "; echo 2 >~/kept-" + spec.name + "; X=3"}), 0,
               "");
    ASSERT_TRUE(sandbox.stop({}, soon()));
  }
  EXPECT_TRUE(eventually([&] { return processes_of(spec.name).empty(); }));
  auto again = Sandbox::restart(spec.name, soon());
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_RAN(run(*again, {.script = "cat " + kept_file(spec) + " ~/kept-" + spec.name + "; echo $X"}), 0, "1\n2\n3\n");
  ASSERT_TRUE(Sandbox::remove(spec.name, soon()));
  expect_gone(spec.name);
}

TEST_F(Contract, Case101_AfterACrashTheNextUseClearsThatSandboxAndNoOther) {
  if (const std::string why = why_not_seen_by_host(); !why.empty()) GTEST_SKIP() << why;
  Sandbox other = create(lasting_spec());
  const auto job = other.start({.script = "sleep 1000"}, soon());
  ASSERT_TRUE(job) << job.error().text();
  SandboxSpec spec = make_spec();  // owned: a crash is its end
  set_env(spec, "LIFE_MARK", spec.name);
  Sandbox crashed = create(spec);
  ASSERT_TRUE(crashed.start({.script = "sleep 1000 & setsid sleep 1000"}, soon()));
  ASSERT_TRUE(eventually([&] { return processes_of(spec.name).size() >= 2; }));
  const pid_t keeper = keeper_of(spec.name);
  ASSERT_GT(keeper, 0);
  kill(keeper, SIGKILL);
  EXPECT_TRUE(eventually([&] { return processes_of(spec.name).empty(); }));
  Result<Sandbox> anew = fail(Errc::internal, "");
  EXPECT_TRUE(eventually([&] { return (anew = Sandbox::create(spec, soon())).has_value(); })) << anew.error().text();
  if (anew) {
    EXPECT_RAN(run(*anew, {.script = "jobs; echo new"}), 0, "new\n");
  }
  const auto status = other.status(*job, soon());
  ASSERT_TRUE(status) << status.error().text();
  EXPECT_EQ(status->ending, Ending::running);
  EXPECT_RAN(run(other, {.script = "echo there"}), 0, "there\n");
  anew = fail(Errc::internal, "");
  ASSERT_TRUE(Sandbox::remove(other.name(), soon()));
  expect_gone(other.name());
}

TEST_F(Contract, Case101_AfterACrashAPersistentOneStartsAgainWithItsFiles) {
  SandboxSpec spec = lasting_spec();
  spec.persistent = true;
  Sandbox crashed = create(spec);
  EXPECT_RAN(run(crashed, {.script = "echo 1 >" + kept_file(spec)}), 0, "");
  const pid_t keeper = keeper_of(spec.name);
  ASSERT_GT(keeper, 0);
  kill(keeper, SIGKILL);
  auto again = Sandbox::restart(spec.name, soon());
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_RAN(run(*again, {.script = "cat " + kept_file(spec)}), 0, "1\n");
  ASSERT_TRUE(Sandbox::remove(spec.name, soon()));
  expect_gone(spec.name);
}

TEST_F(Contract, Case102_AnotherSpecOfTheSameNameIsAConflictNeverTheOldSandbox) {
  SandboxSpec spec = lasting_spec();
  Sandbox old = create(spec);
  spec.pids = 50;
  set_env(spec, "GENERATION", "2");
  const auto second = Sandbox::create(spec, soon());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::conflict) << second.error().text();
  EXPECT_NE(second.error().message.find("cove rm " + spec.name), std::string::npos) << "it does not say what to do";
  EXPECT_RAN(run(old, {.script = "echo [$GENERATION]"}), 0, "[]\n");
  ASSERT_TRUE(Sandbox::remove(spec.name, soon()));
  auto replaced = Sandbox::create(spec, soon());
  if (!replaced && replaced.error().code == Errc::unsupported) GTEST_SKIP() << replaced.error().message;
  ASSERT_TRUE(replaced) << replaced.error().text();
  EXPECT_RAN(run(*replaced, {.script = "echo [$GENERATION]"}), 0, "[2]\n");
  EXPECT_NE(replaced->inspect(soon()).value_or("").find("\"pids\":50"), std::string::npos)
      << replaced->inspect(soon()).value_or("");
  ASSERT_TRUE(Sandbox::remove(spec.name, soon()));
}

TEST_F(Contract, Case102_AnImageThatIsGoneIsToldAtTheNextStartAndNothingIsLost) {
  SandboxSpec spec = lasting_spec();
  spec.persistent = true;
  spec.image = home().make_directory("image-" + spec.name);
  for (const char* name : {"usr", "etc", "tmp", "root", "proc", "dev"}) {
    fs::create_directory(spec.image + "/" + name);
  }
  fs::create_directory(spec.image + "/bin");
  if (!fs::exists("/bin/busybox")) GTEST_SKIP() << "busybox is not installed";
  fs::copy_file("/bin/busybox", spec.image + "/bin/sh");
  auto sandbox = Sandbox::create(spec, soon());
  if (!sandbox && sandbox.error().code == Errc::unsupported) GTEST_SKIP() << sandbox.error().message;
  ASSERT_TRUE(sandbox) << sandbox.error().text();
  EXPECT_RAN(run(*sandbox, {.script = "echo 1 >" + kept_file(spec)}), 0, "");
  ASSERT_TRUE(sandbox->stop({}, soon()));
  fs::rename(spec.image, spec.image + ".away");
  const auto refused = Sandbox::restart(spec.name, soon());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find(spec.image), std::string::npos) << refused.error().text();
  fs::rename(spec.image + ".away", spec.image);
  auto again = Sandbox::restart(spec.name, soon());
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_RAN(run(*again, {.script = "read x <" + kept_file(spec) + "; echo $x"}), 0, "1\n");
  ASSERT_TRUE(Sandbox::remove(spec.name, soon()));
  expect_gone(spec.name);
}

TEST_F(Contract, Case103_ALimitOfProcessesHoldsIsToldAndLeavesControl) {
  SandboxSpec spec = lasting_spec();
  spec.owned = true;
  spec.pids = 100;
  auto sandbox = Sandbox::create(spec, soon());
  if (!sandbox && sandbox.error().code == Errc::unsupported) GTEST_SKIP() << sandbox.error().message;
  ASSERT_TRUE(sandbox) << sandbox.error().text();
  const auto bomb = sandbox->start({.script = "for i in $(seq 300); do sleep 1000 & done; wait"}, soon());
  ASSERT_TRUE(bomb) << bomb.error().text();
  std::string said;
  const auto keep = [&](Stream, std::string_view bytes) { said += bytes; };
  const auto refused = [&] {
    said.clear();
    (void)sandbox->attach({.id = *bomb, .from = 0, .follow = false}, {.output = keep}, soon());
    return said.find("Resource temporarily unavailable") != std::string::npos;
  };
  EXPECT_TRUE(eventually(refused)) << said;
  if (why_not_seen_by_host().empty()) {
    EXPECT_LE(processes_of(spec.name).size(), 100U);
    // One that is just being executed has no environment to be known by.
    EXPECT_TRUE(eventually([&] { return processes_of(spec.name).size() >= 50; }));
  }
  // What is asked now is answered, or refused with the reason; it does not hang.
  const auto commands = sandbox->commands(soon());
  ASSERT_TRUE(commands) << commands.error().text();
  EXPECT_EQ(std::count_if(commands->begin(), commands->end(), [&](const Outcome& one) { return one.id == *bomb; }), 1);
  const auto more = sandbox->run({.argv = {"true"}}, {}, soon());
  if (!more) {
    EXPECT_EQ(more.error().code, Errc::busy) << more.error().text();
  }
  ASSERT_TRUE(sandbox->signal(*bomb, {.signal = 0, .grace_ms = 100}, soon()));
  const auto ended = sandbox->attach({.id = *bomb}, {}, soon());
  ASSERT_TRUE(ended) << ended.error().text();
  EXPECT_NE(ended->ending, Ending::running);
  EXPECT_RAN(run(*sandbox, {.script = "echo control"}), 0, "control\n");
}

// A sandbox that ends soon when it is idle, in which a command was started in time. A busy machine may be slower than
// its limit; then it gets a longer one.
struct Impatient {
  SandboxSpec spec;
  std::optional<Sandbox> sandbox;
  std::string job;
};

Impatient start_in_impatient(const std::string& script) {
  for (std::uint64_t idle_ms = 300;; idle_ms *= 4) {
    Impatient one{lasting_spec(), {}, {}};
    one.spec.idle_timeout_ms = idle_ms;
    one.sandbox.emplace(create(one.spec));
    auto job = one.sandbox->start({.script = script}, soon());
    if (job) return one.job = *job, std::move(one);
    if (idle_ms > 20'000) throw std::runtime_error("start: " + job.error().text());
    (void)Sandbox::remove(one.spec.name, soon());
  }
}

TEST_F(Contract, Case104_AnIdleSandboxIsCleanedUp) {
  const auto [spec, sandbox, job] = start_in_impatient("true");
  EXPECT_TRUE(ends_by_itself(spec.name)) << "it is still there";
  EXPECT_FALSE(Sandbox::open(spec.name));
  (void)Sandbox::remove(spec.name, soon());
  expect_gone(spec.name);
}

TEST_F(Contract, Case104_ABackgroundCommandKeepsItsSandboxHoweverLongItTakes) {
  auto [spec, sandbox, job] = start_in_impatient("echo begun; until [ -e go ]; do sleep .02; done; echo finished");
  // Nobody is connected meanwhile, for longer than it may be idle.
  std::this_thread::sleep_for(std::chrono::milliseconds(3 * spec.idle_timeout_ms));
  EXPECT_TRUE(testing_helpers::alive(keeper_of(spec.name))) << "it was ended under its job";
  // The job ends when we are attached to it: it would not be there for long afterwards.
  std::promise<void> attached;
  std::jthread other([&, &own = *sandbox, seen = attached.get_future()]() mutable {
    seen.wait_for(kPatience);
    EXPECT_RAN(run(own, {.script = "touch go", .session = "other"}), 0, "");
  });
  std::string output;
  const auto keep = [&](Stream, std::string_view bytes) {
    if (output.empty()) attached.set_value();
    output += bytes;
  };
  const auto ended = sandbox->attach({.id = job}, {.output = keep}, soon());
  other.join();
  ASSERT_TRUE(ended) << ended.error().text();
  EXPECT_EQ(ended->ending, Ending::exited);
  EXPECT_EQ(output, "begun\nfinished\n");
  EXPECT_TRUE(ends_by_itself(spec.name)) << "it is still there";
  (void)Sandbox::remove(spec.name, soon());
  expect_gone(spec.name);
}

TEST_F(Contract, Case105_RemovingTwiceAndDestroyingWhatIsGoneAreQuiet) {
  SandboxSpec spec = lasting_spec();
  spec.owned = true;
  {
    Sandbox sandbox = create(spec);
    ASSERT_TRUE(Sandbox::remove(spec.name, soon()));
    const auto second = Sandbox::remove(spec.name, soon());
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Errc::not_found) << second.error().text();
    EXPECT_EQ(testing_helpers::run_cove({"rm", "--force", spec.name}).code, 0);
    EXPECT_TRUE(sandbox.stop({.remove = true}, soon())) << "what is gone has been stopped";
  }
  expect_gone(spec.name);
}

TEST_F(Contract, Case105_AStopDuringCreationLeavesNothingAndFreesTheName) {
  SandboxSpec spec = lasting_spec();
  spec.owned = true;
  for (int round = 0; round < 20; ++round) {
    std::stop_source stop;
    std::thread stopper([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(round * 700));  // another moment each time
      stop.request_stop();
    });
    const auto made = Sandbox::create(spec, {.deadline = Deadline::after(5min), .stop = stop.get_token()});
    stopper.join();
    // A conflict: the one before is still going down.
    if (!made) {
      EXPECT_TRUE(made.error().code == Errc::cancelled || made.error().code == Errc::conflict) << made.error().text();
    }
  }
  EXPECT_TRUE(eventually([&] { return !fs::exists(directory_of(spec.name)); }));
  // The keeper of the last one that was stopped may not even have begun.
  std::optional<Sandbox> sandbox;
  const auto free = [&] {
    auto again = Sandbox::create(spec, soon());
    if (again) sandbox.emplace(std::move(*again));
    return sandbox.has_value();
  };
  ASSERT_TRUE(eventually(free));
  EXPECT_RAN(run(*sandbox, {.script = "echo free"}), 0, "free\n");
}

TEST_F(Contract, Case105_ARemovalDuringCreationEndsInOneStateOrTheOther) {
  const SandboxSpec spec = lasting_spec();
  for (int round = 0; round < 10; ++round) {
    Result<void> removed = {};
    std::thread remover([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(round * 1500));  // another moment each time
      removed = Sandbox::remove(spec.name, soon());
    });
    const auto made = Sandbox::create(spec, soon());
    remover.join();
    EXPECT_TRUE(removed || removed.error().code == Errc::not_found) << removed.error().text();
    EXPECT_TRUE(made || made.error().code == Errc::disconnected || made.error().code == Errc::not_found)
        << made.error().text();
    const auto rest = Sandbox::remove(spec.name, soon());
    EXPECT_TRUE(rest || rest.error().code == Errc::not_found) << rest.error().text();
    expect_gone(spec.name);
  }
}

}  // namespace
}  // namespace cove::conformance
