#include "client/connection.h"

#include <sys/socket.h>

#include <cerrno>

namespace cove {
namespace {

bool is(const proto::Message& message, proto::ClientType type) {
  return message.type == static_cast<std::uint8_t>(type);
}

Failure closed() { return fail(Errc::disconnected, "the keeper closed the connection"); }

}  // namespace

Sandbox::Connection::Connection(UniqueFd socket) : socket_(std::move(socket)) {
  send(proto::ClientType::hello, proto::encode(proto::Hello{}));
}

void Sandbox::Connection::send(proto::ClientType type, std::string_view payload) {
  proto::append_message(out_, static_cast<std::uint8_t>(type), 0, payload);
}

Result<bool> Sandbox::Connection::flush(Waiting waiting) {
  const int flags = MSG_NOSIGNAL | (waiting == Waiting::no ? MSG_DONTWAIT : 0);
  while (!out_.empty()) {
    const std::string_view bytes = out_.view();
    const ssize_t n = ::send(socket_.get(), bytes.data(), bytes.size(), flags);
    if (n >= 0) {
      out_.consume(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      return false;
    } else if (errno != EINTR) {
      return errno == EPIPE || errno == ECONNRESET ? closed() : fail_errno("write to the keeper");
    }
  }
  return true;
}

Result<bool> Sandbox::Connection::fill(Waiting waiting) {
  const std::span<char> space = in_.space();
  while (true) {
    const ssize_t n = recv(socket_.get(), space.data(), space.size(), waiting == Waiting::no ? MSG_DONTWAIT : 0);
    if (n > 0) {
      in_.filled(static_cast<std::size_t>(n));
      return true;
    }
    if (n == 0 || errno == ECONNRESET) return closed();
    if (errno == EAGAIN) return false;
    if (errno != EINTR) return fail_errno("read from the keeper");
  }
}

Result<std::optional<proto::Message>> Sandbox::Connection::next() {
  COVE_TRY(auto message, in_.next());
  if (!message || greeted_) return message;
  COVE_CHECK(check_hello(*message));
  return in_.next();
}

Result<void> Sandbox::Connection::check_hello(const proto::Message& message) {
  COVE_TRY(const std::string_view payload, expect(message, proto::ClientType::hello));
  COVE_TRY(const auto hello, proto::decode<proto::Hello>(payload));
  if (hello.version != proto::kVersion) {
    return fail(Errc::protocol, "the keeper speaks version " + std::to_string(hello.version) + ", this program " +
                                    std::to_string(proto::kVersion) + ": stop the sandbox and make it again");
  }
  greeted_ = true;
  return {};
}

Error to_error(const proto::Message& message) {
  auto reply = proto::decode<proto::ErrorReply>(message.payload);
  if (!reply) return std::move(reply).error();
  return Error{reply->code, std::move(reply->message)};
}

Result<std::string_view> expect(const proto::Message& message, proto::ClientType type) {
  if (is(message, type)) return message.payload;
  if (is(message, proto::ClientType::error)) return fail(to_error(message));
  return fail(Errc::protocol, "the keeper answered with a message of type " + std::to_string(message.type));
}

}  // namespace cove
