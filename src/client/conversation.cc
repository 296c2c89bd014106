#include "client/conversation.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "proto/guest.h"

namespace cove {
namespace {

using proto::ClientType;

constexpr std::chrono::seconds kAfterStop{5};
constexpr std::size_t kPiece = std::size_t{64} << 10;
constexpr std::size_t kQueueLimit = std::size_t{256} << 10;

}  // namespace

Sandbox::Conversation::Conversation(Connection& connection, StdinSource source, Control* control, const Call& call)
    : connection_(connection),
      stdin_(std::move(source)),
      control_(control != nullptr ? control->state_.get() : nullptr),
      stop_(call.stop),
      deadline_(call.deadline),
      stdin_open_(stdin_.given()),
      credit_(proto::kStdinWindow) {
  // Stdin frames may be under way while the outcome comes back.
  if (stdin_open_) connection_.spoil();
}

void Sandbox::Conversation::tell_every(std::chrono::milliseconds period) {
  period_ = period;
  tell_at_ = Deadline::after(period);
}

Result<Sandbox::Conversation::Event> Sandbox::Conversation::next() {
  while (true) {
    if (tell_at_.passed()) {
      tell_every(period_);
      return Event(StillRunning{});
    }
    COVE_TRY(const auto message, connection_.next());
    if (!message) {
      COVE_CHECK(wait());
      continue;
    }
    COVE_TRY(auto event, take(*message));
    if (event) return std::move(*event);
  }
}

Result<std::optional<Sandbox::Conversation::Event>> Sandbox::Conversation::take(const proto::Message& message) {
  switch (static_cast<ClientType>(message.type)) {
    case ClientType::started: {
      COVE_TRY(auto started, proto::decode<proto::CommandStarted>(message.payload));
      id_ = started.id;
      return Event(std::move(started));
    }
    case ClientType::output: {
      COVE_TRY(const auto header,
               proto::decode<proto::OutputHeader>(message.payload.substr(0, proto::kOutputHeaderBytes)));
      return Event(Output{header.stream, message.payload.substr(proto::kOutputHeaderBytes)});
    }
    case ClientType::stdin_credit: {
      COVE_CHECK(take_credit(message.payload));
      return std::nullopt;
    }
    default: break;
  }
  COVE_TRY(const std::string_view payload, expect(message, ClientType::outcome));
  COVE_TRY(auto outcome, proto::decode<Outcome>(payload));
  return Event(std::move(outcome));
}

Result<void> Sandbox::Conversation::take_credit(std::string_view payload) {
  COVE_TRY(const auto credit, proto::decode<proto::Credit>(payload));
  credit_ += credit.bytes;
  if (credit.bytes == 0) stdin_open_ = false;  // nobody reads any more
  return {};
}

bool Sandbox::Conversation::wants_stdin() const {
  return stdin_open_ && credit_ > 0 && connection_.out().size() < kQueueLimit;
}

bool Sandbox::Conversation::only_socket_matters() const {
  return control_ == nullptr && stop_.fd() < 0 && deadline_.is_never() && tell_at_.is_never() && !wants_stdin() &&
         connection_.out().empty();
}

// A keeper that closes may have sent the outcome before: what it said is still read, up to its end.
void Sandbox::Conversation::flush() {
  if (connection_.flush(Connection::Waiting::no)) return;
  connection_.out().clear();
  connection_.spoil();
  stdin_open_ = false;
}

Result<void> Sandbox::Conversation::wait() {
  COVE_CHECK(send_stdin());
  flush();
  if (only_socket_matters()) {
    COVE_CHECK(connection_.fill(Connection::Waiting::yes));
    return {};
  }
  const short socket_events = static_cast<short>(POLLIN | (connection_.out().empty() ? 0 : POLLOUT));
  std::array<pollfd, 4> fds{{{connection_.fd(), socket_events, 0},
                             {wants_stdin() ? stdin_.fd : -1, POLLIN, 0},
                             {control_ != nullptr ? control_->event.get() : -1, POLLIN, 0},
                             {stopping_ ? -1 : stop_.fd(), POLLIN, 0}}};
  const bool pull_more = wants_stdin() && stdin_.pull != nullptr;
  const int n = poll(fds.data(), fds.size(), pull_more ? 0 : earlier(deadline_, tell_at_).poll_timeout());
  if (n < 0 && errno != EINTR) return fail_errno("wait for the keeper");
  if (n <= 0) return check_time();
  if (fds[3].revents != 0 && leave_)
    return fail(Errc::cancelled, "the call was stopped; " + (id_.empty() ? "the command" : id_) + " goes on");
  if (fds[3].revents != 0) {
    stopping_ = true;
    deadline_ = earlier(deadline_, Deadline::after(kAfterStop));
    interrupt();
  }
  if (fds[2].revents != 0) obey_control();
  if (fds[1].revents != 0) read_stdin_fd();
  if (fds[0].revents != 0) COVE_CHECK(connection_.fill(Connection::Waiting::no));
  return check_time();
}

Result<void> Sandbox::Conversation::check_time() {
  if (!deadline_.passed()) return {};
  const std::string what = id_.empty() ? "the command" : "command " + id_;
  if (stopping_) return fail(Errc::cancelled, what + " was interrupted, but its outcome did not come within 5 s");
  return fail(Errc::timeout, what + " still runs; the time to wait for it is over");
}

void Sandbox::Conversation::interrupt() {
  if (interrupted_) return;
  interrupted_ = true;
  connection_.spoil();
  connection_.send(ClientType::interrupt, {});
}

void Sandbox::Conversation::obey_control() {
  control_->drain();
  if (control_->interrupt.exchange(false)) interrupt();
  const std::uint64_t signals = control_->signals.exchange(0);
  for (int number = 1; number < 64; ++number) {
    if ((signals >> number & 1) == 0) continue;
    connection_.spoil();
    connection_.send(ClientType::signal, proto::encode(proto::Signal{.signal = number}));
  }
  if (const std::uint32_t size = control_->size.exchange(0); size != 0) {
    connection_.spoil();
    connection_.send(ClientType::resize, proto::encode(proto::Resize{.rows = static_cast<std::uint16_t>(size >> 16),
                                                                     .columns = static_cast<std::uint16_t>(size)}));
  }
}

std::span<char> Sandbox::Conversation::begin_piece() {
  const std::size_t limit = std::min<std::size_t>(credit_, kPiece);
  return {proto::begin_frame(connection_.out(), limit), limit};
}

void Sandbox::Conversation::end_piece(std::size_t bytes) {
  if (bytes == 0) {
    stdin_open_ = false;
    connection_.send(ClientType::stdin_eof, {});
    return;
  }
  credit_ -= bytes;
  proto::commit_frame(connection_.out(), static_cast<std::uint8_t>(ClientType::stdin_data), 0, bytes);
}

Result<void> Sandbox::Conversation::send_stdin() {
  while (wants_stdin() && stdin_.pull != nullptr) {
    COVE_TRY(const std::size_t n, stdin_.pull(begin_piece()));
    end_piece(n);
  }
  return {};
}

// A descriptor that cannot be read is at its end: a command must not hang because our stdin went away.
void Sandbox::Conversation::read_stdin_fd() {
  const std::span<char> space = begin_piece();
  const ssize_t n = read(stdin_.fd, space.data(), space.size());
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  end_piece(n < 0 ? 0 : static_cast<std::size_t>(n));
}

}  // namespace cove
