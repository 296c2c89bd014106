// The guest as a program, with a test that plays the keeper and breaks the stream.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>

#include "os/child.h"
#include "proto/frame.h"
#include "proto/guest.h"

namespace cove::guest {
namespace {

using namespace std::chrono_literals;
using proto::GuestType;

// Counts as the protocol says: whole frames, hellos not counted.
class FakeKeeper {
 public:
  explicit FakeKeeper(std::string path) : path_(std::move(path)) {}

  void connect(bool resume, std::uint32_t reconnect_ms) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path_.c_str());
    const Deadline deadline = Deadline::after(60s);
    do {
      socket_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
      if (::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) break;
      usleep(2000);
    } while (!deadline.passed());
    greet(resume, reconnect_ms);
  }
  void connect_by(UniqueFd socket, bool resume, std::uint32_t reconnect_ms) {
    socket_ = std::move(socket);
    greet(resume, reconnect_ms);
  }
  void greet(bool resume, std::uint32_t reconnect_ms) {
    reader_.restart();
    proto::KeeperHello hello;
    hello.env = {"PATH=/usr/bin:/bin", "HOME=/"};
    hello.cwd = "/";
    hello.login = false;
    hello.reconnect_ms = reconnect_ms;
    hello.resume = resumed_ = resume;
    hello.received = received();
    send(GuestType::hello, 0, proto::encode(hello));
  }
  void start(std::uint32_t id, const std::string& script) {
    proto::Start start;
    start.script = script;
    send(GuestType::start, id, proto::encode(start));
  }
  void send(GuestType type, std::uint32_t id, std::string_view payload) {
    ByteQueue out;
    proto::append_message(out, static_cast<std::uint8_t>(type), id, payload);
    if (type != GuestType::hello) sent_ += out.view();
    put(out.view());
  }
  std::uint64_t received() const { return reader_.consumed() - hello_bytes_; }

  // Reads at most `bytes` more; false: the stream is over.
  bool read_some(std::size_t bytes) {
    pollfd wait{socket_.get(), POLLIN, 0};
    if (poll(&wait, 1, 60'000) <= 0) return false;
    const auto space = reader_.space();
    const ssize_t n = read(socket_.get(), space.data(), std::min(bytes, space.size()));
    if (n <= 0) return false;
    reader_.filled(static_cast<std::size_t>(n));
    while (true) {
      const std::uint64_t before = reader_.consumed();
      auto message = reader_.next();
      EXPECT_TRUE(message) << message.error().message;
      if (!message || !*message) return message.has_value();
      take(**message, reader_.consumed() - before);
    }
  }
  void cut() { socket_.reset(); }

  std::string output;
  bool exited = false;
  std::size_t hellos = 0;
  std::uint64_t guest_has_received = 0;

 private:
  void take(const proto::Message& message, std::uint64_t bytes) {
    switch (static_cast<GuestType>(message.type)) {
      case GuestType::hello:
        hello_bytes_ += bytes;
        ++hellos;
        guest_has_received = proto::decode<proto::GuestHello>(message.payload)->received;
        if (resumed_) put(std::string_view(sent_).substr(guest_has_received));
        break;
      case GuestType::output_out: {
        output += message.payload;
        const proto::Credit credit{static_cast<std::uint32_t>(message.payload.size())};
        send(GuestType::output_credit, message.id, proto::encode(credit));
        send(GuestType::ack, 0, proto::encode(proto::Ack{received()}));
        break;
      }
      case GuestType::exited: exited = true; break;
      default: break;
    }
  }

  // All of it, or the guest has cut us off, which the next read tells.
  void put(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
  }

  std::string path_, sent_;  // sent_: since the beginning, hellos not counted
  bool resumed_ = false;
  UniqueFd socket_;
  proto::MessageReader reader_;
  std::uint64_t hello_bytes_ = 0;
};

class Reconnect : public testing::Test {
 protected:
  Reconnect() {
    std::string form = testing::TempDir() + "cove-guest-XXXXXX";
    directory_ = mkdtemp(form.data());
    os::ExecSpec spec;
    spec.argv = {COVE_TEST_GUEST, "--listen", path()};
    auto child = os::Child::spawn(spec);
    if (child) guest_.emplace(std::move(*child));
  }
  ~Reconnect() override { std::filesystem::remove_all(directory_); }
  std::string path() const { return directory_ + "/socket"; }

  std::string directory_;
  std::optional<os::Child> guest_;
};

std::string numbers(int last) {
  std::string text;
  for (int i = 1; i <= last; ++i) text += std::to_string(i) + "\n";
  return text;
}

TEST_F(Reconnect, AStreamThatIsCutAnywhereLosesAndRepeatsNothing) {
  FakeKeeper keeper(path());
  keeper.connect(false, 60'000);
  keeper.start(1, "seq 1 20000");
  for (std::size_t round = 0; !keeper.exited; ++round) {
    ASSERT_LT(round, 1000U);
    // Once both are in step, ever larger bites: the cut falls into headers, payloads and between frames.
    while (keeper.hellos <= round) ASSERT_TRUE(keeper.read_some(7));
    if (!keeper.read_some(1 + round * 1499)) FAIL() << "after " << keeper.output.size() << " bytes";
    if (keeper.exited) break;
    keeper.cut();
    keeper.connect(true, 60'000);
  }
  EXPECT_EQ(keeper.output, numbers(20000));
}

TEST_F(Reconnect, CommandsGoOnWhileNobodyIsConnected) {
  FakeKeeper keeper(path());
  keeper.connect(false, 60'000);
  const std::string mark = directory_ + "/mark";
  keeper.start(1, "echo before; while [ ! -e " + mark + " ]; do sleep 0.01; done; echo after");
  while (keeper.output.empty()) ASSERT_TRUE(keeper.read_some(4096));
  keeper.cut();
  ASSERT_TRUE(UniqueFd(creat(mark.c_str(), 0600)));
  keeper.connect(true, 60'000);
  while (!keeper.exited) ASSERT_TRUE(keeper.read_some(4096));
  EXPECT_EQ(keeper.output, "before\nafter\n");
  EXPECT_GT(keeper.guest_has_received, 0U);
}

TEST_F(Reconnect, AGuestThatWaitsInVainEndsItsCommandsAndExits) {
  FakeKeeper keeper(path());
  keeper.connect(false, 50);
  keeper.start(1, "echo $$; exec sleep 1000");
  while (keeper.output.empty()) ASSERT_TRUE(keeper.read_some(4096));
  const int command = std::stoi(keeper.output);
  keeper.cut();
  ASSERT_TRUE(guest_->wait(Deadline::after(60s)));
  EXPECT_NE(kill(command, 0), 0);
}

TEST_F(Reconnect, TimeInWhichAGuestDoesNotRunIsNoTimeItHasWaited) {
  os::ExecSpec spec;
  spec.argv = {COVE_TEST_GUEST, "--listen", directory_ + "/stopped", "6"};
  auto child = os::Child::spawn(spec);
  ASSERT_TRUE(child);
  const Deadline deadline = Deadline::after(60s);
  while (!std::filesystem::exists(directory_ + "/stopped") && !deadline.passed()) usleep(2000);
  ASSERT_TRUE(child->signal(SIGSTOP));
  EXPECT_FALSE(child->wait(Deadline::after(6100ms)));
  ASSERT_TRUE(child->signal(SIGCONT));
  EXPECT_FALSE(child->wait(Deadline::after(100ms)));
  FakeKeeper keeper(directory_ + "/stopped");
  keeper.connect(false, 0);
  EXPECT_TRUE(keeper.read_some(4096));
}

TEST_F(Reconnect, AGuestThatWasNotToldToWaitEndsAtOnce) {
  FakeKeeper keeper(path());
  keeper.connect(false, 0);
  ASSERT_TRUE(keeper.read_some(4096));
  keeper.cut();
  EXPECT_TRUE(guest_->wait(Deadline::after(60s)));
}

TEST_F(Reconnect, AGuestToWhichNobodyEverComesEnds) {
  os::ExecSpec spec;
  spec.argv = {COVE_TEST_GUEST, "--listen", directory_ + "/nobody", "1"};
  auto child = os::Child::spawn(spec);
  ASSERT_TRUE(child);
  const auto status = child->wait(Deadline::after(60s));
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 0);
  EXPECT_FALSE(guest_->poll());  // the other one was given its minute
}

// The keeper's end of a relay, which is a guest of its own.
struct Relay {
  explicit Relay(const std::string& path) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    ours = UniqueFd(ends[0]);
    const UniqueFd theirs(ends[1]);
    os::ExecSpec spec;
    spec.argv = {COVE_TEST_GUEST, "--relay", path};
    spec.fds = {{theirs.get(), 0}, {theirs.get(), 1}, {2, 2}};
    auto child = os::Child::spawn(spec);
    if (child) process.emplace(std::move(*child));
  }
  UniqueFd ours;
  std::optional<os::Child> process;
};

TEST_F(Reconnect, ThroughRelaysThatAreKilledNothingIsLostOrRepeated) {
  FakeKeeper keeper(path());
  std::optional<Relay> relay;
  relay.emplace(path());
  keeper.connect_by(std::move(relay->ours), false, 60'000);
  keeper.start(1, "seq 1 20000");
  for (std::size_t round = 0; !keeper.exited; ++round) {
    ASSERT_LT(round, 200U);
    while (keeper.hellos <= round) ASSERT_TRUE(keeper.read_some(7));
    if (!keeper.read_some(1 + round * 4099)) FAIL() << "after " << keeper.output.size() << " bytes";
    if (keeper.exited) break;
    ASSERT_TRUE(relay->process->signal(SIGKILL));
    relay.emplace(path());
    keeper.connect_by(std::move(relay->ours), true, 60'000);
  }
  EXPECT_EQ(keeper.output, numbers(20000));
}

TEST_F(Reconnect, ARelayEndsWithEitherOfItsSides) {
  Relay first(path());
  FakeKeeper keeper(path());
  keeper.connect_by(std::move(first.ours), false, 60'000);
  keeper.start(1, "echo here");
  while (!keeper.exited) ASSERT_TRUE(keeper.read_some(4096));
  keeper.cut();
  EXPECT_TRUE(first.process->wait(Deadline::after(60s)));
  Relay second(path());
  keeper.connect_by(std::move(second.ours), true, 60'000);
  while (keeper.hellos < 2) ASSERT_TRUE(keeper.read_some(4096));
  ASSERT_TRUE(guest_->signal(SIGKILL));
  EXPECT_TRUE(second.process->wait(Deadline::after(60s)));
  EXPECT_FALSE(keeper.read_some(4096));
}

}  // namespace
}  // namespace cove::guest
