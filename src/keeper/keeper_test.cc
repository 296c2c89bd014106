#include <csignal>

#include "keeper/fake_sandbox.h"

namespace cove::keeper {
namespace {

using namespace std::chrono_literals;
using proto::ClientType;
using proto::Ending;
using proto::GuestType;

TEST_F(KeeperTest, ACommandsOutputAndOutcomeReachItsClient) {
  start();
  auto [client, number] = run(script("x"));
  guest->send(GuestType::output_out, number, std::string_view("hi"));
  guest->send(GuestType::output_err, number, std::string_view("no"));
  exit_with(number, 3);
  proto::Outcome outcome;
  EXPECT_EQ(read_output(client, &outcome), "o:hi e:no ");
  EXPECT_EQ(outcome.ending, Ending::exited);
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.output_bytes, 4U);
  EXPECT_EQ(outcome.cwd, "/w");
  EXPECT_FALSE(outcome.truncated);
}

TEST_F(KeeperTest, AGuestThatEndedBeforeItWasGreetedIsToldByTheReasonOfItsEnd) {
  signal(SIGPIPE, SIG_IGN);  // as keepers do
  KeeperParts parts;
  ASSERT_NO_FATAL_FAILURE(make_parts(parts));
  guest->close();
  place_->die();
  Keeper keeper(std::move(parts));
  const auto greeted = keeper.greet(Deadline::after(60s));
  ASSERT_FALSE(greeted);
  EXPECT_EQ(greeted.error().message, "the guest was killed by signal 9 before it was ready");
}

TEST_F(KeeperTest, AConnectionServesOneRequestAfterTheOther) {
  start();
  Peer client = connect();
  for (int i = 0; i < 3; ++i) {
    client.send(ClientType::run, 0, script("x"));
    exit_with(guest->expect(GuestType::start).id, i);
    client.expect(ClientType::started);
    EXPECT_EQ(outcome_of(client).exit_code, i);
  }
  client.send(ClientType::list, 0, std::string_view());
  EXPECT_NE(client.expect(ClientType::json).payload.find("\"c3\""), std::string::npos);
}

TEST_F(KeeperTest, ATimeoutEndsTheTreeAndIsTheOutcome) {
  start();
  proto::Run request = script("sleep");
  request.timeout_ms = 30;
  auto [client, number] = run(request);
  const auto signal = guest->expect(GuestType::signal).as<proto::Signal>();
  EXPECT_EQ(signal.signal, 0);
  EXPECT_EQ(signal.grace_ms, 2000U);
  guest->send(GuestType::output_out, number, std::string_view("part"));
  exit_with(number, 143, 15);
  proto::Outcome outcome;
  EXPECT_EQ(read_output(client, &outcome), "o:part ");
  EXPECT_EQ(outcome.ending, Ending::timeout);
  EXPECT_EQ(outcome.exit_code, 124);
}

TEST_F(KeeperTest, AnInterruptIsTheOutcome) {
  start();
  auto [client, number] = run(script("sleep"));
  client.send(ClientType::interrupt, 0, std::string_view());
  guest->expect(GuestType::signal);
  exit_with(number, 130, 2);
  const auto outcome = outcome_of(client);
  EXPECT_EQ(outcome.ending, Ending::interrupted);
  EXPECT_EQ(outcome.exit_code, 130);
}

TEST_F(KeeperTest, AClientThatGoesAwayInterruptsOnlyIfItSaidSo) {
  start();
  proto::Run request = script("sleep");
  request.id = "stays";
  { auto [client, number] = run(request); }
  request.id = "goes";
  request.end_with_client = true;
  std::uint32_t goes = 0;
  {
    auto [client, number] = run(request);
    goes = number;
  }
  EXPECT_EQ(guest->expect(GuestType::signal).id, goes);
  exit_with(goes, 143, 15);
  Peer client = connect();
  client.send(ClientType::attach, 0, proto::Attach{.id = "goes"});
  client.expect(ClientType::started);
  EXPECT_EQ(outcome_of(client).ending, Ending::interrupted);
  client.send(ClientType::status, 0, proto::CommandRef{"stays"});
  EXPECT_NE(client.expect(ClientType::json).payload.find("\"running\""), std::string::npos);
}

TEST_F(KeeperTest, TheSameIdNeverRunsTwice) {
  start();
  proto::Run request = script("x");
  request.id = "job";
  auto [first, number] = run(request);
  guest->send(GuestType::output_out, number, std::string_view("once"));
  Peer second = connect();
  second.send(ClientType::run, 0, request);
  EXPECT_TRUE(second.expect(ClientType::started).as<proto::CommandStarted>().existed);
  exit_with(number, 0);
  EXPECT_EQ(read_output(first), "o:once ");
  EXPECT_EQ(read_output(second), "o:once ");
  second.send(ClientType::run, 0, request);
  EXPECT_TRUE(second.expect(ClientType::started).as<proto::CommandStarted>().existed);
  EXPECT_EQ(read_output(second), "o:once ");
}

TEST_F(KeeperTest, StdinOfACommandInTheBackgroundComesFromWhomever) {
  start();
  proto::Run request = script("x");
  request.id = "fed";
  request.background = true;
  request.start.with_stdin = true;
  auto [client, number] = run(request);
  client.expect(ClientType::started);
  client.close();
  Peer other = connect();
  other.send(ClientType::feed, 0, proto::Feed{.id = "fed", .bytes = "one"});
  other.expect(ClientType::done);
  EXPECT_EQ(guest->expect(GuestType::stdin_data).payload, "one");
  other.send(ClientType::feed, 0, proto::Feed{.id = "fed", .bytes = std::string(proto::kStdinWindow - 3, 'x')});
  other.expect(ClientType::done);
  for (std::size_t got = 0; got < proto::kStdinWindow - 3;) got += guest->expect(GuestType::stdin_data).payload.size();
  other.send(ClientType::feed, 0, proto::Feed{.id = "fed", .bytes = std::string(proto::kStdinWindow, 'y')});
  other.expect(ClientType::done);
  other.send(ClientType::feed, 0, proto::Feed{.id = "fed", .bytes = "z"});
  EXPECT_EQ(other.expect(ClientType::error).as<proto::ErrorReply>().code, Errc::busy);
  other.send(ClientType::feed, 0, proto::Feed{.id = "fed", .bytes = "", .eof = true});
  other.expect(ClientType::done);
  other.send(ClientType::feed, 0, proto::Feed{.id = "fed", .bytes = "late"});
  EXPECT_EQ(other.expect(ClientType::error).as<proto::ErrorReply>().code, Errc::conflict);
  other.send(ClientType::status, 0, proto::CommandRef{"fed"});
  const std::string status = other.expect(ClientType::json).payload;
  EXPECT_NE(status.find("\"pid\":42"), std::string::npos) << status;
  EXPECT_NE(status.find("\"command\":\"x\""), std::string::npos) << status;
  exit_with(number, 0);
}

TEST_F(KeeperTest, ReadersAttachAtAnyOffsetLiveOrLater) {
  start();
  auto [client, number] = run(script("x"));
  guest->send(GuestType::output_out, number, std::string_view("abcdef"));
  EXPECT_EQ(client.expect(ClientType::output).payload.substr(proto::kOutputHeaderBytes), "abcdef");
  Peer now = connect();
  now.send(ClientType::attach, 0, proto::Attach{.id = "", .from = 4, .follow = false});
  now.expect(ClientType::started);
  proto::Outcome outcome;
  EXPECT_EQ(read_output(now, &outcome), "o:ef ");
  EXPECT_EQ(outcome.ending, Ending::running);
  exit_with(number, 0);
  outcome_of(client);
  now.send(ClientType::attach, 0, proto::Attach{.id = "c1", .from = 2});
  now.expect(ClientType::started);
  EXPECT_EQ(read_output(now), "o:cdef ");
  now.send(ClientType::attach, 0, proto::Attach{.id = "nope"});
  EXPECT_EQ(now.expect(ClientType::error).as<proto::ErrorReply>().code, Errc::not_found);
}

TEST_F(KeeperTest, AnOutcomeThatComesWhileALogIsReadComesWithTheWholeLog) {
  start();
  proto::Run request = script("x");
  request.id = "long";
  request.background = true;
  auto [client, number] = run(request);
  client.expect(ClientType::started);
  // More than the socket of a reader that does not read yet can take.
  const std::string piece(64U << 10, 'x');
  std::uint64_t sent = 0;
  for (; sent + piece.size() < proto::kOutputWindow; sent += piece.size())
    guest->send(GuestType::output_out, number, std::string_view(piece));
  guest->send(GuestType::ping, 0, std::string_view());
  while (guest->next().type != static_cast<int>(GuestType::pong)) {}
  Peer reader = connect();
  reader.send(ClientType::attach, 0, proto::Attach{.id = "long", .follow = false});
  reader.expect(ClientType::started);
  guest->send(GuestType::output_out, number, std::string_view("the end"));
  exit_with(number, 0);
  client.send(ClientType::attach, 0, proto::Attach{.id = "long", .from = sent});
  client.expect(ClientType::started);
  EXPECT_EQ(read_output(client), "o:the end ");
  std::string bytes;
  Received got = reader.next();
  for (; got.type == static_cast<int>(ClientType::output); got = reader.next())
    bytes += got.payload.substr(proto::kOutputHeaderBytes);
  EXPECT_EQ(got.as<proto::Outcome>().ending, Ending::exited);
  EXPECT_EQ(bytes.size(), sent + 7);
  EXPECT_TRUE(bytes.ends_with("the end"));
}

TEST_F(KeeperTest, WhatABackgroundJobPrintsLaterIsInTheLogButNotInTheAnswer) {
  start();
  auto [client, number] = run(script("job &"));
  guest->send(GuestType::output_out, number, std::string_view("fg"));
  guest->send(GuestType::exited, number, proto::Exited{});
  guest->send(GuestType::output_out, number, std::string_view("bg"));
  proto::Outcome outcome;
  EXPECT_EQ(read_output(client, &outcome), "o:fg ");
  EXPECT_EQ(outcome.output_bytes, 2U);
  guest->send(GuestType::gone, number, std::string_view());
  client.send(ClientType::attach, 0, proto::Attach{.id = "c1"});
  client.expect(ClientType::started);
  std::string bytes;
  for (Received got = client.next(); got.type == static_cast<int>(ClientType::output); got = client.next()) {
    bytes += got.payload.substr(proto::kOutputHeaderBytes);
  }
  EXPECT_EQ(bytes, "fgbg");
}

TEST_F(KeeperTest, ABackgroundCommandThatCannotStartIsAnError) {
  start();
  Peer client = connect();
  proto::Run request = script("x");
  request.background = true;
  client.send(ClientType::run, 0, request);
  const auto number = guest->expect(GuestType::start).id;
  guest->send(GuestType::exited, number,
              proto::Exited{.exit_code = 126, .error = Errc::not_found, .error_text = "no /nope"});
  guest->send(GuestType::gone, number, std::string_view());
  EXPECT_EQ(client.expect(ClientType::error).as<proto::ErrorReply>().message, "no /nope");
}

TEST_F(KeeperTest, StdinArrivesByteExactWithinTheGuestsCredit) {
  start();
  proto::Run request = script("cat");
  request.start.with_stdin = true;
  auto [client, number] = run(request);
  std::string sent(proto::kStdinWindow + 100'000, '\0');
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i * 7 >> 3);
  std::string got;
  std::thread writer([&, &peer = client] {
    std::size_t credit = proto::kStdinWindow;
    for (std::size_t at = 0; at < sent.size();) {
      const std::size_t n = std::min({std::size_t{50'000}, credit, sent.size() - at});
      if (n == 0) {
        credit += peer.expect(ClientType::stdin_credit).as<proto::Credit>().bytes;
        continue;
      }
      peer.send(ClientType::stdin_data, 0, std::string_view(sent).substr(at, n));
      at += n;
      credit -= n;
    }
    peer.send(ClientType::stdin_eof, 0, std::string_view());
  });
  std::uint32_t used = 0;
  while (true) {
    const Received message = guest->next();
    if (message.type == static_cast<int>(GuestType::stdin_eof)) break;
    ASSERT_EQ(message.type, static_cast<int>(GuestType::stdin_data));
    got += message.payload;
    used += static_cast<std::uint32_t>(message.payload.size());
    ASSERT_LE(used, proto::kStdinWindow);
    if (used > 200'000) guest->send(GuestType::stdin_credit, number, proto::Credit{std::exchange(used, 0)});
  }
  writer.join();
  EXPECT_EQ(got, sent);
}

TEST_F(KeeperTest, ALiveReaderThatDoesNotReadHoldsOnlyItsCommandBack) {
  spec_.log_cap_bytes = 1000;
  start();
  auto [slow, number] = run(script("yes"));
  const std::string piece(64U << 10, 'y');
  // The guest sends as long as it has credit: first what it may at once, then what the keeper grants it.
  std::uint64_t credit = proto::kOutputWindow, sent = 0;
  const auto send_all = [&] {
    for (; credit >= piece.size(); credit -= piece.size(), sent += piece.size()) {
      guest->send(GuestType::output_out, number, std::string_view(piece));
    }
  };
  const auto next_frame_is_pong = [&] {
    Received got = guest->next();
    if (got.type == static_cast<int>(GuestType::pong)) return true;
    EXPECT_EQ(got.type, static_cast<int>(GuestType::output_credit));
    credit += got.as<proto::Credit>().bytes;
    return false;
  };
  // After a pong nothing is owed any more: the keeper has stopped granting.
  do {
    send_all();
    guest->send(GuestType::ping, 0, std::string_view());
    while (!next_frame_is_pong()) {}
  } while (credit >= piece.size());
  EXPECT_LT(sent, std::uint64_t{8} << 20);
  std::uint64_t next = 0;
  while (next < sent) {
    const Received got = slow.expect(ClientType::output);
    const auto header = proto::decode<proto::OutputHeader>(got.payload.substr(0, proto::kOutputHeaderBytes));
    ASSERT_EQ(header->offset, next);
    next += got.payload.size() - proto::kOutputHeaderBytes;
  }
  guest->expect(GuestType::output_credit);
}

TEST_F(KeeperTest, AGuestThatDiesLosesItsCommandsHonestly) {
  start();
  auto [client, number] = run(script("x"));
  guest->send(GuestType::output_out, number, std::string_view("part"));
  EXPECT_EQ(client.expect(ClientType::output).payload.substr(proto::kOutputHeaderBytes), "part");
  place_->die();
  const auto outcome = outcome_of(client);
  EXPECT_EQ(outcome.ending, Ending::lost);
  EXPECT_EQ(outcome.exit_code, 125);
  EXPECT_NE(outcome.detail.find("signal 9"), std::string::npos);
  thread_.join();
  const auto info = record::Record::open("box")->info();
  EXPECT_EQ(info->life, record::Life::failed);
  EXPECT_NE(info->why.find("signal 9"), std::string::npos);
  EXPECT_EQ(record::Record::open("box")->journal()->at(0).ending, Ending::lost);
}

TEST_F(KeeperTest, AGuestThatBreaksTheProtocolIsNotBelieved) {
  start();
  auto [client, number] = run(script("x"));
  guest->send(GuestType::output_out, number + 7, std::string_view("forged"));
  EXPECT_EQ(outcome_of(client).ending, Ending::lost);
  thread_.join();
}

TEST_F(KeeperTest, StopEndsCommandsRemovesTheRecordAndAnswersLast) {
  start();
  auto [client, number] = run(script("sleep"));
  Peer stopper = connect();
  stopper.send(ClientType::stop, 0, proto::StopRequest{});
  guest->expect(GuestType::signal);
  exit_with(number, 143, 15);
  stopper.expect(ClientType::done);
  EXPECT_FALSE(record_exists());
  EXPECT_EQ(outcome_of(client).ending, Ending::interrupted);
  thread_.join();
}

TEST_F(KeeperTest, AnOwnedSandboxEndsWithItsOwner) {
  spec_.owned = true;
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  UniqueFd owner(ends[1]);
  start(UniqueFd(ends[0]));
  owner.reset();
  thread_.join();
  EXPECT_FALSE(record_exists());
}

TEST_F(KeeperTest, ASandboxThatNobodyHasHeardOfEndsAndIsForgotten) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  asker_ = UniqueFd(ends[0]);
  UniqueFd client(ends[1]);
  start();
  client.reset();
  thread_.join();
  EXPECT_FALSE(record_exists());
}

TEST_F(KeeperTest, ASandboxThatSomebodyHasHeardOfStays) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  asker_ = UniqueFd(ends[0]);
  const UniqueFd held(fcntl(ends[0], F_DUPFD_CLOEXEC, 0));  // as by a child that has not come to its exec
  {
    const UniqueFd client(ends[1]);
    start();
    ASSERT_EQ(send(client.get(), "", 1, MSG_NOSIGNAL), 1);
  }
  auto [client, number] = run(script("x"));
  exit_with(number, 3);
  EXPECT_EQ(outcome_of(client).exit_code, 3);
}

TEST_F(KeeperTest, AnIdleSandboxEndsAndSaysWhy) {
  spec_.idle_timeout_ms = 50;
  start();
  thread_.join();
  EXPECT_NE(record::Record::open("box")->info()->why.find("idle"), std::string::npos);
}

TEST_F(KeeperTest, ABackgroundTreeIsNotIdle) {
  spec_.idle_timeout_ms = 2000;  // enough to begin the job on a busy machine
  start();
  auto [client, number] = run(script("job &"));
  guest->send(GuestType::exited, number, proto::Exited{});
  outcome_of(client);
  client.close();
  pollfd over{guest->fd(), POLLIN, 0};
  EXPECT_EQ(poll(&over, 1, 3000), 0);
  guest->send(GuestType::gone, number, std::string_view());
  thread_.join();
}

TEST_F(KeeperTest, APersistentSandboxKeepsSessionsAndIdsOverARestart) {
  spec_.persistent = true;
  start();
  proto::Run request = script("x");
  request.id = "job";
  auto [client, number] = run(request);
  exit_with(number, 7);
  outcome_of(client);
  const auto answer_with = [&](const std::string& state) {
    guest->expect(GuestType::session_state);
    guest->send(GuestType::session_state, 0, proto::SessionState{"default", state});
    guest->send(GuestType::session_state, 0, proto::SessionState{});
  };
  answer_with("X=0");  // after the command, against a crash
  Peer stopper = connect();
  stopper.send(ClientType::stop, 0, proto::StopRequest{});
  answer_with("X=1");
  stopper.expect(ClientType::done);
  EXPECT_EQ(record::Record::open("box")->info()->life, record::Life::stopped);
  thread_.join();

  start();
  const auto restored = guest->expect(GuestType::restore_session).as<proto::SessionState>();
  EXPECT_EQ(restored.session, "default");
  EXPECT_EQ(restored.state, "X=1");
  Peer again = connect();
  again.send(ClientType::run, 0, request);
  EXPECT_TRUE(again.expect(ClientType::started).as<proto::CommandStarted>().existed);
  EXPECT_EQ(outcome_of(again).exit_code, 7);
  again.send(ClientType::stop, 0, proto::StopRequest{.remove = true});
  again.expect(ClientType::done);
  thread_.join();
  EXPECT_FALSE(record_exists());
}

TEST_F(KeeperTest, AnIdWithSpacesOrQuotesIsRefused) {
  start();
  Peer client = connect();
  proto::Run request = script("x");
  request.id = "a \"b\"";
  client.send(ClientType::run, 0, request);
  EXPECT_EQ(client.expect(ClientType::error).as<proto::ErrorReply>().code, Errc::invalid);
}

TEST_F(KeeperTest, InspectTellsNamesButNoValues) {
  spec_.env = {{"TOKEN", "hush"}};
  start();
  Peer client = connect();
  client.send(ClientType::inspect, 0, std::string_view());
  const auto json = client.expect(ClientType::json).as<proto::Text>().text;
  EXPECT_NE(json.find("TOKEN"), std::string::npos);
  EXPECT_EQ(json.find("hush"), std::string::npos);
}

TEST_F(KeeperTest, NonsenseFromAClientEndsOnlyItsConnection) {
  start();
  Peer client = connect();
  client.send(ClientType::outcome, 0, std::string_view("x"));
  EXPECT_EQ(client.next().type, -1);
  Peer other = connect();
  other.send(ClientType::list, 0, std::string_view());
  EXPECT_EQ(other.expect(ClientType::json).as<proto::Text>().text, "[]");
}

}  // namespace
}  // namespace cove::keeper
