// kill -9 of each of the three in the middle of a command: the others notice, say so, and nothing is left.

#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <random>
#include <thread>

#include "faults/fixture.h"
#include "helpers/program.h"

namespace cove::faults {
namespace {

// A command that has begun, as its caller sees it, and its end.
struct Cut {
  Result<Outcome> outcome = fail(Errc::internal, "it never returned");
  std::string output;
  Seconds reaction{0};
};

// Runs a command that prints `part` and stays; as soon as the word is here, kills `victim`.
Cut run_and_kill(Sandbox& sandbox, const std::string& id, pid_t victim) {
  Cut call;
  Clock::time_point killed = Clock::now();
  const auto kill_it = [&](Stream, std::string_view bytes) {
    call.output += bytes;
    if (call.output != "part\n") return;
    killed = Clock::now();
    kill(victim, SIGKILL);
  };
  const std::string script = "(trap '' TERM HUP; setsid sleep 999 &); sleep 999 & echo part; sleep 999";
  call.outcome = sandbox.run({.script = script, .id = id}, {.output = kill_it}, soon());
  call.reaction = Clock::now() - killed;
  return call;
}

TEST_F(Faults, AKilledGuestIsNoticedToldAndLeavesNothing) {
  Sandbox sandbox = create(lasting_spec());
  const pid_t keeper = keeper_of(sandbox.name()), guest = guest_of(sandbox.name());
  ASSERT_GT(guest, 0);
  const Yardstick yardstick;
  const Cut call = run_and_kill(sandbox, "c1", guest);
  EXPECT_LT(call.reaction, yardstick.stretched(1s));
  EXPECT_EQ(call.output, "part\n");
  if (call.outcome) {
    EXPECT_EQ(call.outcome->ending, Ending::lost);
    EXPECT_EQ(call.outcome->exit_code, 125);
    EXPECT_FALSE(call.outcome->detail.empty()) << "it does not say what happened";
  } else {
    EXPECT_EQ(call.outcome.error().code, Errc::disconnected) << call.outcome.error().text();
  }
  const Truth truth = ask(sandbox.name(), "c1");
  EXPECT_TRUE(truth.started);
  EXPECT_EQ(truth.outcome.ending, Ending::lost);
  expect_nothing_left(sandbox.name(), {keeper, guest});
}

TEST_F(Faults, AKilledKeeperIsNoticedToldAndLeavesNothing) {
  Sandbox sandbox = create(lasting_spec());
  const pid_t keeper = keeper_of(sandbox.name()), guest = guest_of(sandbox.name());
  ASSERT_GT(keeper, 0);
  const Yardstick yardstick;
  const Cut call = run_and_kill(sandbox, "c1", keeper);
  EXPECT_LT(call.reaction, yardstick.stretched(1s));
  EXPECT_EQ(call.output, "part\n");
  ASSERT_FALSE(call.outcome);
  EXPECT_EQ(call.outcome.error().code, Errc::disconnected) << call.outcome.error().text();
  EXPECT_NE(call.outcome.error().message.find(sandbox.name()), std::string::npos) << call.outcome.error().text();
  const Truth truth = ask(sandbox.name(), "c1");
  EXPECT_TRUE(truth.started);
  EXPECT_EQ(truth.outcome.ending, Ending::lost);
  EXPECT_FALSE(ask(sandbox.name(), "never").started);
  expect_nothing_left(sandbox.name(), {keeper, guest});
}

TEST_F(Faults, AKeeperWhoseHomeIsRemovedEndsAndDoesNotMakeItAgain) {
  SandboxSpec spec = lasting_spec();
  spec.idle_timeout_ms = 500;
  const Sandbox sandbox = create(spec);
  const pid_t keeper = keeper_of(sandbox.name()), guest = guest_of(sandbox.name());
  ASSERT_GT(keeper, 0);
  std::filesystem::remove_all(home().path());
  EXPECT_TRUE(eventually([&] { return !testing_helpers::alive(keeper) && !testing_helpers::alive(guest); }));
  EXPECT_FALSE(std::filesystem::exists(home().path()));
}

TEST_F(Faults, AKilledClientTakesItsCommandAlongOnlyIfItSaidSo) {
  Sandbox sandbox = create(lasting_spec());
  const std::string cove = testing_helpers::cove_program();
  auto client = testing_helpers::start_program({cove, "sh", "--id", "c1", sandbox.name(), "--",
                                                "echo ready; while [ ! -e /proc/self/nope ]; do sleep .1; done"});
  ASSERT_TRUE(client) << client.error().text();
  ASSERT_TRUE(client->says("ready")) << client->heard;
  ASSERT_TRUE(client->child.signal(SIGKILL));
  ASSERT_TRUE(client->child.wait(Deadline::after(kPatience)));
  EXPECT_TRUE(eventually([&] { return ask(sandbox.name(), "c1").outcome.ending == Ending::interrupted; }));
  // This one's connection is cut by the deadline, as the kernel would cut it.
  const CommandSpec stays{.script = "sleep 999", .id = "c2", .session = "stays"};
  EXPECT_FALSE(sandbox.run(stays, {}, {.deadline = Deadline::after(2s)}));
  EXPECT_EQ(ask(sandbox.name(), "c2").outcome.ending, Ending::running);
  const auto other = sandbox.sh("echo on", soon());
  ASSERT_TRUE(other) << other.error().text();
  EXPECT_EQ(other->output, "on\n");
  EXPECT_TRUE(sandbox.stop({.remove = true}, soon()));
  expect_nothing_left(sandbox.name(), {});
}

TEST_F(Faults, ACommandThatEndsWithItsClientIsInterruptedSoon) {
  Sandbox sandbox = create(lasting_spec());
  // The connection is cut by the deadline: the library closes it, as the kernel would.
  const std::string seconds = "998." + std::to_string(getpid());
  CommandSpec spec{.script = "sleep " + seconds, .id = "c1", .end_with_client = true};
  const auto cut = sandbox.run(spec, {}, {.deadline = Deadline::after(2s)});
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code, Errc::timeout) << cut.error().text();
  const Yardstick yardstick;
  const auto begin = Clock::now();
  const auto ended = [&] { return ask(sandbox.name(), "c1").outcome.ending == Ending::interrupted; };
  EXPECT_TRUE(eventually(ended));
  EXPECT_LT(Clock::now() - begin, yardstick.stretched(3s));
  EXPECT_TRUE(eventually([&] { return testing_helpers::processes_with_argument(seconds).empty(); }));
  EXPECT_TRUE(sandbox.stop({.remove = true}, soon()));
  expect_nothing_left(sandbox.name(), {});
}

// One round: a command is started in a thread, and after a random time one of the three is killed.
void kill_at_a_random_moment(std::mt19937& random) {
  SandboxSpec spec = lasting_spec();
  const std::string directory = home().make_directory(spec.name);
  spec.cwd = directory;
  Sandbox sandbox = create(spec);
  const pid_t keeper = keeper_of(spec.name), guest = guest_of(spec.name);
  const pid_t victim = random() % 2 == 0 ? keeper : guest;
  std::thread killer([&, pause = std::chrono::microseconds(random() % 25'000)] {
    std::this_thread::sleep_for(pause);  // the random moment itself, not a way to wait for something
    kill(victim, SIGKILL);
  });
  const auto outcome = sandbox.run({.script = "echo s >start; sleep .01; echo e >end", .id = "c1"}, {}, soon());
  killer.join();
  EXPECT_TRUE(outcome || outcome.error().code == Errc::disconnected) << outcome.error().text();
  const Truth truth = ask(spec.name, "c1");
  const bool began = !testing_helpers::slurp(directory + "/start").empty();
  const bool finished = !testing_helpers::slurp(directory + "/end").empty();
  const bool told_exited = outcome && outcome->ending == Ending::exited;
  EXPECT_TRUE(!told_exited || truth.outcome.ending == Ending::exited) << "an ending was told and then forgotten";
  EXPECT_TRUE(!began || truth.started) << "the command began, and nobody knows of it";
  EXPECT_TRUE(truth.outcome.ending != Ending::exited || finished) << "an ending was invented";
  EXPECT_TRUE(!truth.started || truth.outcome.ending == Ending::exited || truth.outcome.ending == Ending::lost)
      << "ending " << static_cast<int>(truth.outcome.ending);
  expect_nothing_left(spec.name, {keeper, guest});
}

TEST_F(Faults, AnyMomentToBeKilledIsASafeOne) {
  const char* wanted = std::getenv("COVE_TEST_KILLS");
  const int rounds = wanted != nullptr ? std::atoi(wanted) : 30;
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round) + ", seed " + std::to_string(seed));
    kill_at_a_random_moment(random);
  }
}

TEST_F(Faults, AKilledStopIsFinishedByTheNextOneWhoLooks) {
  SandboxSpec spec = make_spec();
  set_env(spec, "FAULT_MARK", spec.name);
  Sandbox sandbox = create(spec);
  const pid_t keeper = keeper_of(spec.name), guest = guest_of(spec.name);
  ASSERT_TRUE(sandbox.start({.script = "trap '' TERM; sleep 999"}, soon()));
  std::thread stopper([&] { (void)sandbox.stop({.remove = true, .grace_ms = 5000}, soon()); });
  kill(keeper, SIGKILL);
  stopper.join();
  expect_nothing_left(spec.name, {keeper, guest});
}

}  // namespace
}  // namespace cove::faults
