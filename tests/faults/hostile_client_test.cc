// Bytes on a sandbox's socket that no client of ours would send: that connection ends, the sandbox lives on.

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>

#include "faults/fixture.h"
#include "proto/frame.h"
#include "record/record.h"

namespace cove::faults {
namespace {

using proto::ClientType;

class HostileClient : public Faults {
 protected:
  void SetUp() override {
    sandbox_.emplace(create(make_spec()));
    keeper_ = keeper_of(sandbox_->name());
  }
  void TearDown() override {
    const auto done = sandbox_->sh("echo alive", soon());
    EXPECT_TRUE(done && done->output == "alive\n") << (done ? done->output : done.error().text());
    EXPECT_EQ(keeper_of(sandbox_->name()), keeper_) << "it is another keeper";
    sandbox_.reset();
    Faults::TearDown();
  }

  UniqueFd connect() const {
    const auto record = record::Record::open(sandbox_->name());
    auto socket = record ? record->connect() : fail(Errc::not_found, "no record");
    EXPECT_TRUE(socket) << socket.error().text();
    return socket ? std::move(*socket) : UniqueFd();
  }

  // Sends as long as the other side takes it.
  static void send_all(int socket, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

  // Waits until there is something to read, or the end.
  static bool answers(int socket) {
    pollfd waiting{socket, POLLIN, 0};
    return poll(&waiting, 1, soon().deadline.poll_timeout()) == 1;
  }

  // Reads to the end; false if the keeper keeps the connection.
  static bool dropped(int socket) {
    std::array<char, 65536> buffer;
    const Deadline deadline = soon().deadline;
    while (true) {
      pollfd waiting{socket, POLLIN, 0};
      if (poll(&waiting, 1, deadline.poll_timeout()) <= 0) return false;
      if (read(socket, buffer.data(), buffer.size()) <= 0) return true;
    }
  }

  template <class Payload>
  static std::string message(ClientType type, const Payload& payload) {
    ByteQueue out;
    proto::append_message(out, static_cast<std::uint8_t>(type), 0, proto::encode(payload));
    return std::string(out.view());
  }
  static std::string hello() { return message(ClientType::hello, proto::Hello{}); }

  bool drops(const std::string& bytes) const {
    const UniqueFd socket = connect();
    send_all(socket.get(), bytes);
    return dropped(socket.get());
  }

  std::optional<Sandbox> sandbox_;
  pid_t keeper_ = 0;
};

TEST_F(HostileClient, NoiseIsDropped) {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    std::string noise(1 + random() % 5000, '\0');
    for (char& c : noise) c = static_cast<char>(random());
    noise[3] = '\x7f';  // a length beyond the limit, or this could be a frame that only begins
    EXPECT_TRUE(drops(noise));
    EXPECT_TRUE(drops(hello() + noise));
  }
}

TEST_F(HostileClient, AWrongVersionIsToldAndNotServed) {
  const UniqueFd socket = connect();
  send_all(socket.get(), message(ClientType::hello, proto::Hello{.version = 999}));
  ASSERT_TRUE(answers(socket.get()));
  std::array<char, 4096> buffer;
  const ssize_t got = read(socket.get(), buffer.data(), buffer.size());
  const std::string heard(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  EXPECT_NE(heard.find("version 999"), std::string::npos) << heard;
  send_all(socket.get(), message(ClientType::status, proto::CommandRef{.id = "x"}));
  EXPECT_TRUE(dropped(socket.get()));
}

TEST_F(HostileClient, ARequestBeforeHelloIsDropped) {
  EXPECT_TRUE(drops(message(ClientType::status, proto::CommandRef{.id = "x"})));
}

TEST_F(HostileClient, TheKeepersOwnTypesAreDropped) {
  EXPECT_TRUE(drops(hello() + message(ClientType::done, proto::Text{})));
  EXPECT_TRUE(drops(hello() + message(static_cast<ClientType>(222), proto::Text{})));
}

TEST_F(HostileClient, PayloadsOfTheWrongFormAreDroppedOrRefused) {
  for (const auto type : {ClientType::run, ClientType::attach, ClientType::status, ClientType::signal_command}) {
    const UniqueFd socket = connect();
    send_all(socket.get(), hello() + message(type, proto::Credit{.bytes = 0xffffffff}));
    EXPECT_TRUE(answers(socket.get())) << "to a malformed request";
  }
}

TEST_F(HostileClient, HalfAFrameHoldsNobodyUp) {
  std::vector<UniqueFd> waiting;
  for (int i = 0; i < 50; ++i) {
    waiting.push_back(connect());
    send_all(waiting.back().get(), hello().substr(0, 7));
  }
  const auto done = sandbox_->sh("echo alive", soon());
  ASSERT_TRUE(done) << done.error().text();
}

TEST_F(HostileClient, StdinBeyondItsCreditIsNotKeptInMemory) {
  const UniqueFd socket = connect();
  proto::Run run{.id = "flood", .start = {.script = "sleep 999", .with_stdin = true}};
  send_all(socket.get(), hello() + message(ClientType::run, run));
  ASSERT_TRUE(eventually([&] { return sandbox_->status(run.id, soon()).has_value(); }));
  ByteQueue frame;
  proto::append_message(frame, static_cast<std::uint8_t>(ClientType::stdin_data), 0, std::string(200'000, 'x'));
  const std::uint64_t before = testing_helpers::held_by(keeper_).memory_bytes;
  const Deadline end = Deadline::after(500ms);
  while (!end.passed()) send_all(socket.get(), frame.view());
  EXPECT_LT(testing_helpers::held_by(keeper_).memory_bytes, before + (std::uint64_t{16} << 20));
}

TEST_F(HostileClient, AClientThatNeverReadsDoesNotFillTheKeepersMemory) {
  const UniqueFd socket = connect();
  proto::Run run{.id = "loud", .start = {.script = "head -c 300000000 /dev/zero"}};
  const std::uint64_t before = testing_helpers::held_by(keeper_).memory_bytes;
  send_all(socket.get(), hello() + message(ClientType::run, run));
  ASSERT_TRUE(eventually([&] { return sandbox_->status(run.id, soon()).has_value(); }));
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(sandbox_->sh("true", soon()));
  EXPECT_LT(testing_helpers::held_by(keeper_).memory_bytes, before + (std::uint64_t{96} << 20));
}

TEST_F(HostileClient, ManyConnectionsComeAndGoWithoutALeak) {
  const std::size_t before = testing_helpers::held_by(keeper_).descriptors;
  for (int round = 0; round < 300; ++round) {
    const UniqueFd socket = connect();
    send_all(socket.get(), round % 2 == 0 ? hello() : "x");
  }
  const auto settled = [&] { return testing_helpers::held_by(keeper_).descriptors <= before + 2; };
  EXPECT_TRUE(eventually(settled)) << testing_helpers::held_by(keeper_).descriptors << ", were " << before;
}

}  // namespace
}  // namespace cove::faults
