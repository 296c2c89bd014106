#include "keeper/guest_link.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace cove::keeper {

using proto::GuestType;

GuestLink::GuestLink(Channel channel) { open(std::move(channel)); }

GuestLink::GuestLink(Channel channel, const State& state)
    : history_start_(state.acknowledged), consumed_before_(state.received), told_(state.received), keeps_(true) {
  history_.append(state.unacknowledged);
  open(std::move(channel));
  say_hello_again();
}

Result<GuestLink::State> GuestLink::state() const {
  if (!reader_.whole()) return fail(Errc::busy, "the guest is in the middle of a message: ask once more");
  State state{.received = received(), .acknowledged = history_start_, .unacknowledged = std::string(history_.view())};
  state.unacknowledged += out_.view();
  return state;
}

void GuestLink::open(Channel channel) {
  channel_ = std::move(channel);
  stream_start_ = consumed();
  for (const int fd : {in_fd(), out_fd()}) fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

void GuestLink::send(GuestType type, std::uint32_t id, std::string_view payload) {
  const bool hello = type == GuestType::hello;
  proto::append_message(hello ? hello_ : out_, static_cast<std::uint8_t>(type), hello ? proto::kHelloId : id, payload);
}

Result<bool> GuestLink::write(ByteQueue& from) {
  while (!from.empty()) {
    const ssize_t n = ::write(out_fd(), from.view().data(), from.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return false;
    if (n < 0) return fail(Errc::disconnected, "the guest does not listen any more");
    if (&from == &out_) remember(from.view().substr(0, static_cast<std::size_t>(n)));
    from.consume(static_cast<std::size_t>(n));
  }
  return true;
}

Result<void> GuestLink::flush() {
  if (!is_open()) return {};
  COVE_TRY(const bool greeted, write(hello_));
  if (greeted && in_step_) COVE_CHECK(write(out_));
  return {};
}

// A guest that never acknowledges anything does not get all of our memory.
void GuestLink::remember(std::string_view sent) {
  if (!keeps_) return;
  history_.append(sent);
  if (history_.size() <= kMostHistory) return;
  keeps_ = false;
  history_ = ByteQueue();
}

Result<GuestLink::Read> GuestLink::receive(const std::function<Result<void>(const proto::Message&)>& take) {
  if (!is_open()) return Read::nothing;
  const std::span<char> space = reader_.space();
  const ssize_t n = read(in_fd(), space.data(), space.size());
  if (n < 0) return errno == EAGAIN || errno == EINTR ? Read::nothing : Read::end;
  if (n == 0) return Read::end;
  reader_.filled(static_cast<std::size_t>(n));
  while (true) {
    COVE_TRY(const auto message, reader_.next());
    if (!message) break;
    COVE_TRY(const bool own, take_own(*message));
    if (!own) COVE_CHECK(take(*message));
  }
  if (keeps_ && received() - told_ >= proto::kAckBytes) send(GuestType::ack, 0, proto::Ack{told_ = received()});
  return Read::some;
}

Result<bool> GuestLink::take_own(const proto::Message& message) {
  if (message.type == static_cast<std::uint8_t>(GuestType::hello)) {
    hello_bytes_ += consumed() - stream_start_;
    if (in_step_) return false;  // the first one
    COVE_TRY(const auto hello, proto::decode<proto::GuestHello>(message.payload));
    COVE_CHECK(go_on(hello.received));
    return true;
  }
  if (!in_step_) return fail(Errc::protocol, "the guest goes on without having said how far it is");
  if (message.type != static_cast<std::uint8_t>(GuestType::ack)) return false;
  COVE_TRY(const auto ack, proto::decode<proto::Ack>(message.payload));
  if (keeps_) COVE_CHECK(acknowledge(ack.received));
  return true;
}

Result<void> GuestLink::acknowledge(std::uint64_t received) {
  if (received < history_start_) return {};  // sent before a break that has told us more since
  if (received - history_start_ > history_.size()) {
    return fail(Errc::protocol, "the guest acknowledges what was not sent");
  }
  history_.consume(static_cast<std::size_t>(received - history_start_));
  history_start_ = received;
  return {};
}

Result<void> GuestLink::go_on(std::uint64_t received) {
  if (received < history_start_) return fail(Errc::protocol, "the guest has lost what it had acknowledged");
  COVE_CHECK(acknowledge(received));
  ByteQueue again;
  again.append(history_.view());
  again.append(out_.view());
  history_ = ByteQueue();
  out_ = std::move(again);
  in_step_ = true;
  return {};
}

void GuestLink::reopen(Channel channel) {
  reader_.restart();
  open(std::move(channel));
  say_hello_again();
}

void GuestLink::say_hello_again() {
  in_step_ = false;
  hello_ = ByteQueue();
  proto::KeeperHello hello;
  hello.resume = true;
  hello.received = received();
  send(GuestType::hello, 0, hello);
}

void GuestLink::trim() {
  if (reader_.empty()) {
    consumed_before_ += reader_.consumed();
    reader_ = proto::MessageReader();
  }
  if (out_.empty()) out_ = ByteQueue();
  if (hello_.empty()) hello_ = ByteQueue();
}

}  // namespace cove::keeper
