#pragma once

// For tests: the keeper's end of a sandbox's socket, in a record of its own, played by hand from the test.

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstdlib>
#include <filesystem>

#include "client/cove.h"
#include "proto/frame.h"
#include "record/record.h"

namespace cove {

class FakeKeeper {
 public:
  FakeKeeper() {
    std::string form = testing::TempDir() + "cove-client-XXXXXX";
    home_ = mkdtemp(form.data());
    setenv("COVE_HOME", home_.c_str(), 1);
    SandboxSpec spec;
    spec.name = "fake";
    record_.emplace(record::Record::create(spec).value());
    listener_ = record_->listen().value();
  }
  ~FakeKeeper() { std::filesystem::remove_all(home_); }

  record::Record& record() { return *record_; }

  // The next client, greeted.
  void accept(std::uint32_t version = proto::kVersion) {
    ASSERT_TRUE(readable(listener_.get())) << "no client came";
    socket_.reset(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    reader_ = {};
    EXPECT_EQ(receive().type, proto::ClientType::hello);
    send(proto::ClientType::hello, proto::Hello{version});
  }
  bool another_client_waits() { return readable(listener_.get(), 0); }
  void hang_up() { socket_.reset(); }
  // As one that ends: nobody listens, and it holds its lock.
  void stop_listening() {
    socket_.reset();
    listener_.reset();
  }
  // As kill -9 would leave it: nobody listens, nobody holds the lock.
  void die() {
    socket_.reset();
    listener_.reset();
    record_.reset();
  }

  struct Received {
    proto::ClientType type = proto::ClientType::error;
    std::string payload;
  };
  Received receive() {
    while (true) {
      auto message = reader_.next();
      if (!message) ADD_FAILURE() << message.error().message;
      if (message && *message)
        return {static_cast<proto::ClientType>((*message)->type), std::string((*message)->payload)};
      if (!readable(socket_.get())) {
        ADD_FAILURE() << "the client said nothing";
        return {};
      }
      const auto space = reader_.space();
      const ssize_t n = recv(socket_.get(), space.data(), space.size(), 0);
      if (n <= 0) return {};
      reader_.filled(static_cast<std::size_t>(n));
    }
  }

  template <class Body>
  void send(proto::ClientType type, const Body& body) {
    send_bytes(type, proto::encode(body));
  }
  void send_output(std::string_view bytes) {
    send_bytes(proto::ClientType::output, proto::encode(proto::OutputHeader{}) + std::string(bytes));
  }
  void send_bytes(proto::ClientType type, std::string_view payload) {
    ByteQueue out;
    proto::append_message(out, static_cast<std::uint8_t>(type), 0, payload);
    ASSERT_EQ(::send(socket_.get(), out.view().data(), out.size(), MSG_NOSIGNAL), static_cast<ssize_t>(out.size()));
  }

 private:
  static bool readable(int fd, int timeout_ms = 60'000) {
    pollfd wait{fd, POLLIN, 0};
    return poll(&wait, 1, timeout_ms) == 1;
  }

  std::string home_;
  std::optional<record::Record> record_;
  UniqueFd listener_, socket_;
  proto::MessageReader reader_;
};

}  // namespace cove
