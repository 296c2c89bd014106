#include <future>
#include <thread>

#include "client/fake_keeper.h"
#include "proto/guest.h"

namespace cove {
namespace {

using proto::ClientType;

Outcome exited(const std::string& id, int code) {
  Outcome outcome;
  outcome.id = id;
  outcome.ending = Ending::exited;
  outcome.exit_code = code;
  return outcome;
}

// Plays the keeper in a thread of its own while the test makes the call.
template <class Play>
std::jthread play(FakeKeeper& keeper, Play work) {
  return std::jthread([&keeper, work] { work(keeper); });
}

TEST(Sandbox, CollectsOutputAndOutcome) {
  FakeKeeper keeper;
  Sandbox sandbox = Sandbox::open("fake").value();
  const auto keeping = play(keeper, [](FakeKeeper& k) {
    k.accept();
    const auto run = proto::decode<proto::Run>(k.receive().payload);
    EXPECT_EQ(run->start.script, "echo hi");
    EXPECT_FALSE(run->start.with_stdin);
    k.send(ClientType::started, proto::CommandStarted{.id = "c1", .existed = false});
    k.send_output("h");
    k.send_output("i\n");
    k.send(ClientType::outcome, exited("c1", 3));
  });
  const auto completed = sandbox.sh("echo hi");
  ASSERT_TRUE(completed) << completed.error().message;
  EXPECT_EQ(completed->output, "hi\n");
  EXPECT_EQ(completed->outcome.exit_code, 3);
}

TEST(Sandbox, UsesOneConnectionForCommandsInARow) {
  FakeKeeper keeper;
  Sandbox sandbox = Sandbox::open("fake").value();
  const auto keeping = play(keeper, [](FakeKeeper& k) {
    k.accept();
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(k.receive().type, ClientType::run);
      k.send(ClientType::outcome, exited("c", i));
    }
  });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(sandbox.sh("true").value().outcome.exit_code, i);
  EXPECT_FALSE(keeper.another_client_waits());
}

TEST(Sandbox, OpensAnotherConnectionWhenAnIdleOneHasBroken) {
  FakeKeeper keeper;
  Sandbox sandbox = Sandbox::open("fake").value();
  {
    const auto keeping = play(keeper, [](FakeKeeper& k) {
      k.accept();
      k.receive();
      k.send(ClientType::outcome, exited("c1", 1));
    });
    EXPECT_EQ(sandbox.sh("true").value().outcome.exit_code, 1);
  }
  keeper.hang_up();
  const auto keeping = play(keeper, [](FakeKeeper& k) {
    k.accept();
    k.receive();
    k.send(ClientType::outcome, exited("c2", 2));
  });
  EXPECT_EQ(sandbox.sh("true").value().outcome.exit_code, 2);
}

TEST(Sandbox, SaysWhatTheJournalKnowsWhenTheKeeperDies) {
  FakeKeeper keeper;
  Sandbox sandbox = Sandbox::open("fake").value();
  const auto keeping = play(keeper, [](FakeKeeper& k) {
    k.accept();
    k.receive();
    ASSERT_TRUE(k.record().note_started("c7"));
    k.send(ClientType::started, proto::CommandStarted{.id = "c7", .existed = false});
    k.send_output("part");
    k.die();
  });
  std::string seen;
  CommandSpec command;
  command.script = "sleep 9";
  CommandIo io;
  io.output = [&](Stream, std::string_view bytes) { seen += bytes; };
  const auto outcome = sandbox.run(command, io);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Errc::disconnected);
  EXPECT_NE(outcome.error().message.find("the keeper of sandbox 'fake' ended"), std::string::npos);
  EXPECT_NE(outcome.error().message.find("command c7"), std::string::npos) << outcome.error().message;
  EXPECT_EQ(seen, "part");
}

TEST(Sandbox, RefusesAKeeperOfAnotherVersion) {
  FakeKeeper keeper;
  Sandbox sandbox = Sandbox::open("fake").value();
  const auto keeping = play(keeper, [](FakeKeeper& k) { k.accept(proto::kVersion + 1); });
  const auto completed = sandbox.sh("true");
  ASSERT_FALSE(completed);
  EXPECT_EQ(completed.error().code, Errc::protocol);
}

TEST(Sandbox, InterruptsOnceWhenStoppedAndTellsTheOutcome) {
  FakeKeeper keeper;
  Sandbox sandbox = Sandbox::open("fake").value();
  std::stop_source stop;
  const auto keeping = play(keeper, [&stop](FakeKeeper& k) {
    k.accept();
    EXPECT_EQ(k.receive().type, ClientType::run);
    k.send(ClientType::started, proto::CommandStarted{.id = "c1", .existed = false});
    stop.request_stop();
    EXPECT_EQ(k.receive().type, ClientType::interrupt);
    Outcome outcome;
    outcome.ending = Ending::interrupted;
    k.send(ClientType::outcome, outcome);
  });
  const auto completed = sandbox.sh("sleep 9", {.deadline = Deadline::never(), .stop = stop.get_token()});
  ASSERT_TRUE(completed);
  EXPECT_EQ(completed->outcome.ending, Ending::interrupted);
}

TEST(Sandbox, GivesUpAtTheDeadlineAndLeavesTheCommandAlone) {
  FakeKeeper keeper;
  Sandbox sandbox = Sandbox::open("fake").value();
  const auto keeping = play(keeper, [](FakeKeeper& k) {
    k.accept();
    EXPECT_EQ(k.receive().type, ClientType::run);
    k.send(ClientType::started, proto::CommandStarted{.id = "c1", .existed = false});
    EXPECT_NE(k.receive().type, ClientType::interrupt);
  });
  const auto completed = sandbox.sh("sleep 9", {.deadline = Deadline::after(std::chrono::seconds(2)), .stop = {}});
  ASSERT_FALSE(completed);
  EXPECT_EQ(completed.error().code, Errc::timeout);
}

TEST(Sandbox, SendsNoMoreStdinThanItHasCreditFor) {
  FakeKeeper keeper;
  Sandbox sandbox = Sandbox::open("fake").value();
  const std::string all(proto::kStdinWindow * 2, 'x');
  const auto keeping = play(keeper, [](FakeKeeper& k) {
    k.accept();
    EXPECT_TRUE(proto::decode<proto::Run>(k.receive().payload)->start.with_stdin);
    std::size_t got = 0;
    while (got < proto::kStdinWindow) got += k.receive().payload.size();
    EXPECT_EQ(got, proto::kStdinWindow);
    k.send(ClientType::stdin_credit, proto::Credit{100});
    EXPECT_EQ(k.receive().payload.size(), 100U);
    k.send(ClientType::stdin_credit, proto::Credit{0});  // nobody reads any more
    k.send(ClientType::outcome, exited("c1", 0));
  });
  CommandIo io;
  io.stdin_bytes = all;
  CommandSpec command;
  command.script = "true";
  const auto outcome = sandbox.run(command, io);
  EXPECT_TRUE(outcome);
}

TEST(Sandbox, EndsStdinAfterItsLastByte) {
  FakeKeeper keeper;
  Sandbox sandbox = Sandbox::open("fake").value();
  const auto keeping = play(keeper, [](FakeKeeper& k) {
    k.accept();
    k.receive();
    EXPECT_EQ(k.receive().payload, "l1\nl2");
    EXPECT_EQ(k.receive().type, ClientType::stdin_eof);
    k.send(ClientType::outcome, exited("c1", 0));
  });
  CommandIo io;
  io.stdin_bytes = "l1\nl2";
  CommandSpec command;
  command.script = "cat";
  EXPECT_TRUE(sandbox.run(command, io));
}

TEST(Sandbox, TurnsAnErrorReplyIntoAnError) {
  FakeKeeper keeper;
  Sandbox sandbox = Sandbox::open("fake").value();
  const auto keeping = play(keeper, [](FakeKeeper& k) {
    k.accept();
    EXPECT_EQ(k.receive().type, ClientType::status);
    k.send(ClientType::error, proto::ErrorReply{.code = Errc::not_found, .message = "no command x"});
  });
  const auto status = sandbox.status("x");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::not_found);
}

TEST(Sandbox, ThatDoesNotExistIsNotFound) {
  FakeKeeper keeper;
  const auto sandbox = Sandbox::open("nope");
  ASSERT_FALSE(sandbox);
  EXPECT_EQ(sandbox.error().code, Errc::not_found);
}

TEST(Sandbox, IsRemovedOnlyWhenItIsGoneAndNotTheNextOneOfItsName) {
  FakeKeeper keeper;
  auto removal = std::async(std::launch::async, [] {
    return Sandbox::remove("fake", {.deadline = Deadline::after(std::chrono::seconds(60)), .stop = {}});
  });
  keeper.accept();
  EXPECT_EQ(keeper.receive().type, ClientType::stop);
  keeper.stop_listening();
  EXPECT_EQ(removal.wait_for(std::chrono::milliseconds(700)), std::future_status::timeout) << "it is still there";
  ASSERT_TRUE(keeper.record().remove());
  SandboxSpec spec;
  spec.name = "fake";
  const auto next = record::Record::create(spec);
  ASSERT_TRUE(next) << next.error().text();
  const auto removed = removal.get();
  EXPECT_TRUE(removed) << removed.error().text();
  EXPECT_TRUE(record::Record::open("fake")) << "another one bears the name now";
}

TEST(Control, InterruptsTheCallThatRuns) {
  FakeKeeper keeper;
  Sandbox sandbox = Sandbox::open("fake").value();
  Control control;
  const auto keeping = play(keeper, [&control](FakeKeeper& k) {
    k.accept();
    k.receive();
    control.resize(50, 132);
    const auto resize = proto::decode<proto::Resize>(k.receive().payload);
    EXPECT_EQ(resize->rows, 50);
    EXPECT_EQ(resize->columns, 132);
    control.interrupt();
    EXPECT_EQ(k.receive().type, ClientType::interrupt);
    k.send(ClientType::outcome, exited("c1", 0));
  });
  CommandIo io;
  io.control = &control;
  CommandSpec command;
  command.script = "sleep 9";
  EXPECT_TRUE(sandbox.run(command, io));
}

}  // namespace
}  // namespace cove
