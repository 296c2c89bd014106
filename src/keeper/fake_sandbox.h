#pragma once

// For the keeper's tests: a real Keeper in a thread, between a guest and clients that the test plays itself.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <thread>

#include "keeper/keeper.h"

namespace cove::keeper {

struct Received {
  int type = -1;  // -1: the other end closed, or said nothing for a minute
  std::uint32_t id = 0;
  std::string payload;
  template <class Body>
  Body as() const {
    auto body = proto::decode<Body>(payload);
    EXPECT_TRUE(body) << "message of type " << type;
    return body ? *body : Body{};
  }
};

// A blocking end of a framed stream.
class Peer {
 public:
  explicit Peer(UniqueFd fd) : fd_(std::move(fd)) {
    const timeval limit{60, 0};
    setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  }
  template <class Type>
  void send(Type type, std::uint32_t id, std::string_view payload) {
    ByteQueue out;
    proto::append_message(out, static_cast<std::uint8_t>(type), id, payload);
    while (!out.empty()) {
      const ssize_t n = ::send(fd_.get(), out.view().data(), out.size(), MSG_NOSIGNAL);
      if (n <= 0) return;
      out.consume(static_cast<std::size_t>(n));
    }
  }
  template <class Type, class Body>
    requires requires(const Body& body) { proto::encode(body); }
  void send(Type type, std::uint32_t id, const Body& body) {
    send(type, id, std::string_view(proto::encode(body)));
  }
  Received next() {
    while (true) {
      auto message = reader_.next();
      if (!message) return {};
      if (*message) return {(*message)->type, (*message)->id, std::string((*message)->payload)};
      const auto space = reader_.space();
      const ssize_t n = recv(fd_.get(), space.data(), space.size(), 0);
      if (n <= 0) return {};
      reader_.filled(static_cast<std::size_t>(n));
    }
  }
  template <class Type>
  Received expect(Type type) {
    Received got = next();
    EXPECT_EQ(got.type, static_cast<int>(type));
    return got;
  }
  int fd() const { return fd_.get(); }
  void close() { fd_.reset(); }

 private:
  UniqueFd fd_;
  proto::MessageReader reader_;
};

class FakePlace final : public Place {
 public:
  explicit FakePlace(int socket) : socket_(socket), gone_(eventfd(0, EFD_CLOEXEC)) {}
  Result<Channel> connect(Deadline) override { return fail(Errc::unsupported, "connected already"); }
  int gone_fd() const override { return gone_.get(); }
  Ended ended() override { return {"the guest was killed by signal 9"}; }
  Result<void> destroy(Deadline) override {
    shutdown(socket_, SHUT_RDWR);
    return {};
  }
  void die() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto n = write(gone_.get(), &one, sizeof(one));
  }

 private:
  int socket_;
  UniqueFd gone_;
};

class KeeperTest : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/cove-keeper-XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    home_ = path;
    setenv("COVE_HOME", path, 1);
    spec_.name = "box";
  }
  void TearDown() override {
    if (thread_.joinable()) stop();
    std::filesystem::remove_all(home_);
  }

  void make_parts(KeeperParts& parts) {
    auto record = again_ ? record::Record::lock(spec_.name) : record::Record::create(spec_);
    ASSERT_TRUE(record) << record.error().message;
    again_ = true;
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    auto place = std::make_unique<FakePlace>(ends[0]);
    place_ = place.get();
    parts.listener = *record->listen();
    parts.channel.in = UniqueFd(ends[0]);
    parts.channel.out = UniqueFd(fcntl(ends[0], F_DUPFD_CLOEXEC, 0));
    parts.record = std::move(*record);
    parts.spec = spec_;
    parts.place = std::move(place);
    guest.emplace(UniqueFd(ends[1]));
  }
  void start(UniqueFd lifetime = UniqueFd()) {
    KeeperParts parts;
    ASSERT_NO_FATAL_FAILURE(make_parts(parts));
    thread_ = std::thread([parts = std::move(parts), asker = std::move(asker_), owner = std::move(lifetime)]() mutable {
      Keeper keeper(std::move(parts));
      keeper.live_with(std::move(owner));
      if (asker) keeper.await_claim(std::move(asker), Keeper::Begun::anew);
      const auto greeted = keeper.greet(Deadline::after(std::chrono::seconds(10)));
      EXPECT_TRUE(greeted) << greeted.error().message;
      const auto ran = keeper.run();
      EXPECT_TRUE(ran) << ran.error().message;
    });
    guest->expect(proto::GuestType::hello);
    guest->send(proto::GuestType::hello, 0, proto::GuestHello{.pid = 1, .shell = "bash"});
  }
  Peer connect() {
    Peer client(*record::Record::open(spec_.name)->connect());
    client.send(proto::ClientType::hello, 0, proto::Hello{});
    client.expect(proto::ClientType::hello);
    return client;
  }
  static proto::Run script(const std::string& text) {
    proto::Run run;
    run.start.script = text;
    return run;
  }
  // A client with a command that the guest has started; its number.
  std::pair<Peer, std::uint32_t> run(const proto::Run& request) {
    Peer client = connect();
    client.send(proto::ClientType::run, 0, request);
    const Received started = guest->expect(proto::GuestType::start);
    guest->send(proto::GuestType::started, started.id, proto::Started{42});
    if (!request.background) client.expect(proto::ClientType::started);
    return {std::move(client), started.id};
  }
  void exit_with(std::uint32_t number, int code, int signal = 0) {
    guest->send(proto::GuestType::exited, number, proto::Exited{.exit_code = code, .signal = signal, .cwd = "/w"});
    guest->send(proto::GuestType::gone, number, std::string_view());
  }
  static proto::Outcome outcome_of(Peer& client) {
    return client.expect(proto::ClientType::outcome).as<proto::Outcome>();
  }
  // Output up to the outcome; the bytes as "o:..." and "e:..." runs.
  static std::string read_output(Peer& client, proto::Outcome* outcome = nullptr) {
    std::string all;
    while (true) {
      const Received got = client.next();
      if (got.type == static_cast<int>(proto::ClientType::output)) {
        all += got.payload[8] == 0 ? "o:" : "e:";
        all += got.payload.substr(proto::kOutputHeaderBytes) + " ";
        continue;
      }
      EXPECT_EQ(got.type, static_cast<int>(proto::ClientType::outcome));
      if (outcome != nullptr) *outcome = got.as<proto::Outcome>();
      return all;
    }
  }
  void stop(bool remove = false) {
    Peer client = connect();
    client.send(proto::ClientType::stop, 0, proto::StopRequest{.remove = remove, .grace_ms = 100});
    client.expect(proto::ClientType::done);
    thread_.join();
  }
  bool record_exists() const { return std::filesystem::exists(home_ / "sandboxes" / spec_.name); }

  std::filesystem::path home_;
  SandboxSpec spec_;
  std::thread thread_;
  FakePlace* place_ = nullptr;
  std::optional<Peer> guest;
  UniqueFd asker_;
  bool again_ = false;
};

}  // namespace cove::keeper
