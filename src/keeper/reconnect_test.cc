// A real Keeper and a real guest (--listen), between them a stream that the test cuts.

#include <sys/un.h>

#include <atomic>
#include <csignal>
#include <mutex>

#include "keeper/fake_sandbox.h"
#include "os/child.h"

namespace cove::keeper {
namespace {

using namespace std::chrono_literals;
using proto::ClientType;
using proto::Ending;

class ListeningPlace final : public Place {
 public:
  ListeningPlace(os::Child guest, std::string path, std::chrono::milliseconds within)
      : guest_(std::move(guest)), path_(std::move(path)), within_(within) {}

  Result<Channel> connect(Deadline deadline) override {
    if (connections > 0 && refusals > 0) {
      --refusals;
      return fail(Errc::disconnected, "the test says no");
    }
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    while (true) {
      UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
      if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) return keep(socket);
      if (connections > 0 || deadline.passed()) return fail_errno("connect to the guest");
      usleep(1000);
    }
  }
  std::chrono::milliseconds reconnect_within() const override { return within_; }
  int gone_fd() const override { return guest_.pidfd(); }
  Ended ended() override { return {"the guest " + guest_.poll()->text()}; }
  // From here on the guest is somebody else's.
  Result<void> save_memory(const std::string&, Deadline) override {
    refusals = 1'000'000;
    spared = true;
    return {};
  }
  Result<void> destroy(Deadline deadline) override {
    if (spared) return {};
    COVE_CHECK(guest_.signal(SIGKILL));
    COVE_CHECK(guest_.wait(deadline));
    return {};
  }

  // From the test's thread.
  void cut() {
    const std::scoped_lock lock(mutex_);
    shutdown(last_.get(), SHUT_RDWR);
  }
  void kill_guest() { kill(guest_.pid(), SIGKILL); }
  std::atomic<int> connections = 0, refusals = 0;
  std::atomic<bool> spared = false;

 private:
  Channel keep(const UniqueFd& socket) {
    const std::scoped_lock lock(mutex_);
    last_ = UniqueFd(fcntl(socket.get(), F_DUPFD_CLOEXEC, 0));
    ++connections;
    return {UniqueFd(fcntl(socket.get(), F_DUPFD_CLOEXEC, 0)), UniqueFd(fcntl(socket.get(), F_DUPFD_CLOEXEC, 0))};
  }

  os::Child guest_;
  std::string path_;
  std::chrono::milliseconds within_;
  std::mutex mutex_;
  UniqueFd last_;
};

class KeeperReconnect : public KeeperTest {
 protected:
  void begin(std::chrono::milliseconds within) {
    signal(SIGPIPE, SIG_IGN);  // as keepers do
    spec_.env = {{"PATH", "/usr/bin:/bin"}, {"HOME", "/"}};
    spec_.login = false;
    const std::string socket = home_ / "guest";
    os::ExecSpec exec;
    exec.argv = {COVE_TEST_GUEST, "--listen", socket};
    auto child = os::Child::spawn(exec);
    ASSERT_TRUE(child) << child.error().message;
    auto place = std::make_unique<ListeningPlace>(std::move(*child), socket, within);
    place_ = place.get();
    auto record = record::Record::create(spec_);
    ASSERT_TRUE(record) << record.error().message;
    KeeperParts parts;
    parts.listener = *record->listen();
    auto channel = place->connect(Deadline::after(60s));
    ASSERT_TRUE(channel) << channel.error().message;
    parts.channel = std::move(*channel);
    parts.record = std::move(*record);
    parts.spec = spec_;
    parts.place = std::move(place);
    thread_ = std::thread([parts = std::move(parts)]() mutable {
      Keeper keeper(std::move(parts));
      const auto greeted = keeper.greet(Deadline::after(60s));
      EXPECT_TRUE(greeted) << greeted.error().message;
      const auto ran = keeper.run();
      EXPECT_TRUE(ran) << ran.error().message;
    });
  }
  Peer begin_command(const proto::Run& request) {
    Peer client = connect();
    client.send(ClientType::run, 0, request);
    client.expect(ClientType::started);
    return client;
  }
  // Until the outcome; `heard` is told after each piece how many bytes there are.
  static std::string follow(Peer& client, proto::Outcome& outcome, const std::function<void(std::size_t)>& heard) {
    std::string all;
    while (true) {
      const Received got = client.next();
      if (got.type == static_cast<int>(ClientType::stdin_credit)) continue;
      if (got.type != static_cast<int>(ClientType::output)) {
        EXPECT_EQ(got.type, static_cast<int>(ClientType::outcome));
        outcome = got.as<proto::Outcome>();
        return all;
      }
      all += got.payload.substr(proto::kOutputHeaderBytes);
      heard(all.size());
    }
  }
  static void cut_every(ListeningPlace& place, std::size_t& next, std::size_t step, std::size_t bytes) {
    if (bytes < next) return;
    next = bytes + step;
    place.cut();
  }
  ListeningPlace* place_ = nullptr;
};

TEST_F(KeeperReconnect, OutputIsNeitherLostNorDoubledWhenTheChannelIsCutAgainAndAgain) {
  begin(60s);
  Peer client = begin_command(script("seq 1 1000000"));
  proto::Outcome outcome;
  std::size_t next = 1;
  const std::string output =
      follow(client, outcome, [&](std::size_t bytes) { cut_every(*place_, next, 397'001, bytes); });
  EXPECT_EQ(outcome.ending, Ending::exited);
  EXPECT_GT(place_->connections, 5);
  std::string wanted;
  for (int i = 1; i <= 1'000'000; ++i) wanted += std::to_string(i) + "\n";
  EXPECT_TRUE(output == wanted) << output.size() << " bytes of " << wanted.size();
}

TEST_F(KeeperReconnect, StdinArrivesByteExactWhenTheChannelIsCutAgainAndAgain) {
  begin(60s);
  proto::Run request = script("cat");
  request.start.with_stdin = true;
  Peer client = begin_command(request);
  std::string sent(3'000'000, '\0');
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>((i * 7) >> 3);
  std::string got;
  std::size_t next = 1, at = 0, credit = proto::kStdinWindow;
  while (got.size() < sent.size()) {
    for (std::size_t n; (n = std::min({std::size_t{50'000}, credit, sent.size() - at})) > 0; at += n, credit -= n)
      client.send(ClientType::stdin_data, 0, std::string_view(sent).substr(at, n));
    const Received message = client.next();
    if (message.type == static_cast<int>(ClientType::stdin_credit)) {
      credit += message.as<proto::Credit>().bytes;
      continue;
    }
    ASSERT_EQ(message.type, static_cast<int>(ClientType::output));
    got += message.payload.substr(proto::kOutputHeaderBytes);
    cut_every(*place_, next, 199'999, got.size());
  }
  client.send(ClientType::stdin_eof, 0, std::string_view());
  proto::Outcome outcome;
  EXPECT_EQ(follow(client, outcome, [](std::size_t) {}), "");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_TRUE(got == sent);
  EXPECT_GT(place_->connections, 5);
}

TEST_F(KeeperReconnect, ARunningCommandGoesOnWhileTheGuestCannotBeReached) {
  begin(60s);
  place_->refusals = 5;
  const std::string mark = home_ / "mark";
  Peer client = begin_command(script("echo before; until [ -e " + mark + " ]; do sleep 0.01; done; echo after"));
  proto::Outcome outcome;
  const std::string output = follow(client, outcome, [&](std::size_t) {
    if (std::filesystem::exists(mark)) return;
    place_->cut();
    ASSERT_TRUE(UniqueFd(creat(mark.c_str(), 0600)));
  });
  EXPECT_EQ(output, "before\nafter\n");
  EXPECT_EQ(outcome.ending, Ending::exited);
  EXPECT_EQ(place_->refusals, 0);
  // The session is the same one.
  Peer second = begin_command(script("cd /usr; x=5"));
  outcome_of(second);
  place_->cut();
  Peer third = begin_command(script("echo $PWD $x"));
  EXPECT_EQ(follow(third, outcome, [](std::size_t) {}), "/usr 5\n");
}

TEST_F(KeeperReconnect, AGuestThatStaysOutOfReachIsLostInTime) {
  begin(300ms);
  place_->refusals = 1'000'000;
  Peer client = begin_command(script("echo on; sleep 1000"));
  proto::Outcome outcome;
  follow(client, outcome, [&](std::size_t) { place_->cut(); });
  EXPECT_EQ(outcome.ending, Ending::lost);
  // The guest waits for as long, and ends when nobody has come: either may be noticed first.
  EXPECT_TRUE(outcome.detail.find("could not be opened again in 300 ms: the test says no") != std::string::npos ||
              outcome.detail == "the guest exited with 0")
      << outcome.detail;
  thread_.join();
}

// Where a saved one goes on: here it is the guest itself that has changed hands.
class ContinuedPlace final : public Place {
 public:
  explicit ContinuedPlace(std::string path) : path_(std::move(path)) {}
  Result<Channel> connect(Deadline) override {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) < 0)
      return fail_errno("connect");
    return Channel{UniqueFd(fcntl(socket.get(), F_DUPFD_CLOEXEC, 0)), std::move(socket)};
  }
  std::chrono::milliseconds reconnect_within() const override { return 60s; }
  int gone_fd() const override { return -1; }
  Ended ended() override { return {"it ended"}; }
  Result<void> destroy(Deadline) override { return {}; }

 private:
  std::string path_;
};

TEST_F(KeeperReconnect, AnotherKeeperGoesOnWithWhatWasSaved) {
  begin(60s);
  const std::string mark = home_ / "mark";
  proto::Run request = script("echo before; until [ -e " + mark + " ]; do sleep 0.01; done; echo after; exit 3");
  request.id = "counter";
  request.timeout_ms = 600'000;
  Peer client = begin_command(request);
  client.expect(ClientType::output);
  Peer other = begin_command(script("cd /usr; x=5"));
  outcome_of(other);
  other.send(ClientType::layers, 0, proto::LayerRequest{.verb = proto::LayerVerb::snapshot_memory, .tag = "saved"});
  other.expect(ClientType::json);

  spec_.name = "copy";
  spec_.from = "saved";
  auto record = record::Record::create(spec_);
  ASSERT_TRUE(record) << record.error().message;
  KeeperParts parts;
  parts.listener = *record->listen();
  parts.record = std::move(*record);
  parts.spec = spec_;
  parts.place = std::make_unique<ContinuedPlace>(home_ / "guest");
  parts.channel = *parts.place->connect(Deadline::after(60s));
  std::thread second([parts = std::move(parts)]() mutable {
    Keeper keeper(std::move(parts));
    const auto greeted = keeper.greet(Deadline::after(60s));
    EXPECT_TRUE(greeted) << greeted.error().message;
    const auto ran = keeper.run();
    EXPECT_TRUE(ran) << ran.error().message;
  });
  proto::Outcome outcome;
  Peer third = begin_command(script("echo $PWD $x"));
  EXPECT_EQ(follow(third, outcome, [](std::size_t) {}), "/usr 5\n");
  ASSERT_TRUE(UniqueFd(creat(mark.c_str(), 0600)));
  Peer fourth = connect();
  fourth.send(ClientType::attach, 0, proto::Attach{.id = "counter"});
  fourth.expect(ClientType::started);
  EXPECT_EQ(follow(fourth, outcome, [](std::size_t) {}), "after\n");
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.output_bytes, 13U);
  Peer last = connect();
  last.send(ClientType::stop, 0, proto::StopRequest{.remove = true, .grace_ms = 100});
  last.expect(ClientType::done);
  second.join();
  place_->kill_guest();
  thread_.join();
}

TEST_F(KeeperReconnect, AGuestThatDiedIsNotWaitedFor) {
  begin(60s);
  Peer client = begin_command(script("echo $$; exec sleep 1000"));
  proto::Outcome outcome;
  const std::string pid = follow(client, outcome, [&](std::size_t) { place_->kill_guest(); });
  EXPECT_EQ(outcome.ending, Ending::lost);
  EXPECT_NE(outcome.detail.find("killed by signal 9"), std::string::npos) << outcome.detail;
  const Deadline deadline = Deadline::after(60s);
  while (kill(std::stoi(pid), 0) == 0 && !deadline.passed()) usleep(1000);
  EXPECT_FALSE(deadline.passed()) << "its command lives on";
  thread_.join();
}

}  // namespace
}  // namespace cove::keeper
