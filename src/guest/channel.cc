#include "guest/channel.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace cove::guest {
namespace {

constexpr std::chrono::milliseconds kRest{20};
constexpr int kMarkWaitMs = 1000;
constexpr std::chrono::milliseconds kStep{500};

bool is_allowed(int socket) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && (peer.uid == geteuid() || peer.uid == 0);
}

}  // namespace

Channel::Channel(Loop& loop, UniqueFd in, UniqueFd out, UniqueFd listener, Clock::duration first_visit, Events events)
    : loop_(loop), listener_(std::move(listener)), events_(std::move(events)) {
  if (listener_) {
    loop_.watch(listener_.get(), EPOLLIN, [this](std::uint32_t) { accept(); });
    await_visit(first_visit);
  }
  if (in) open(std::move(in), std::move(out));
}

void Channel::open(UniqueFd in, UniqueFd out) {
  in_ = std::move(in);
  out_ = std::move(out);
  stream_start_ = reader_.consumed();
  for (const int fd : {in_.get(), out_fd()}) fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  loop_.watch(in_.get(), EPOLLIN, [this](std::uint32_t) { read(); });
}

// A new stream means that the old one is broken, whether we have noticed or not.
void Channel::accept() {
  UniqueFd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket || !is_allowed(socket.get())) return;
  if (in_) lost();
  if (over_) return;
  loop_.cancel(give_up_);
  open(std::move(socket), {});
}

void Channel::expect(std::string mark) {
  is_port_ = seeking_ = true;
  mark_ = std::move(mark);
  sought_.clear();
  reader_.restart();
  stream_start_ = reader_.consumed();
  if (wait_ != Clock::duration::zero()) in_step_ = false;
}

void Channel::seek() {
  std::array<char, 65536> bytes;
  const ssize_t n = ::read(in_.get(), bytes.data(), bytes.size());
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return lost();
  if (mark_.empty()) return;
  sought_.append(bytes.data(), static_cast<std::size_t>(n));
  if (sought_.find(mark_) == std::string::npos) {
    if (sought_.size() >= mark_.size()) sought_.erase(0, sought_.size() - mark_.size() + 1);
    return;
  }
  sought_.clear();
  for (std::string_view left = mark_; !left.empty();) {
    const ssize_t sent = write(in_.get(), left.data(), left.size());
    if (sent > 0) left.remove_prefix(static_cast<std::size_t>(sent));
    pollfd room{in_.get(), POLLOUT, 0};
    if (sent < 0 && (errno != EAGAIN || poll(&room, 1, kMarkWaitMs) <= 0)) return;
  }
  seeking_ = false;
}

void Channel::lost() {
  if (is_port_) {
    // Nobody is on the other side: it is looked at now and then, because it would be readable all the time.
    loop_.forget(in_.get());
    watched_ = false;
    loop_.after(kRest, [this] { loop_.watch(in_.get(), EPOLLIN, [this](std::uint32_t) { read(); }); });
    return;
  }
  loop_.forget(in_.get());
  watch_for_room(false);
  in_.reset();
  out_.reset();
  reader_.restart();
  in_step_ = false;
  if (!listener_ || wait_ == Clock::duration::zero()) {
    over_ = true;
    return;
  }
  await_visit(wait_);
}

// Counted in steps, each of which is one however long it took: who was saved with his memory, or stopped, and goes on a
// day later has not waited for a day.
void Channel::await_visit(Clock::duration left) {
  loop_.cancel(give_up_);
  if (left <= Clock::duration::zero()) {
    over_ = true;
    return;
  }
  const auto step = std::min<Clock::duration>(left, kStep);
  give_up_ = loop_.after(step, [this, left, step] { await_visit(left - step); });
}

void Channel::read() {
  if (seeking_) return seek();
  const auto space = reader_.space();
  const ssize_t n = ::read(in_.get(), space.data(), space.size());
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return lost();
  reader_.filled(static_cast<std::size_t>(n));
  while (in_) {
    auto message = reader_.next();
    if (message && !*message) return tell_received();
    if (message && (*message)->type == static_cast<std::uint8_t>(proto::GuestType::hello)) {
      hello_bytes_ += reader_.consumed() - stream_start_;
    }
    if (message && events_.message(**message)) continue;
    over_ = broken_ = true;
    return;
  }
}

void Channel::tell_received() {
  if (wait_ == Clock::duration::zero() || received() - told_ < proto::kAckBytes) return;
  told_ = received();
  proto::append_message(queue_, static_cast<std::uint8_t>(proto::GuestType::ack), 0, proto::encode(proto::Ack{told_}));
}

void Channel::flush() {
  while (in_ && in_step_ && !queue_.empty()) {
    const bool was_full = is_full();
    const ssize_t n = write(out_fd(), queue_.view().data(), queue_.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) break;
    if (n <= 0) return lost();
    const auto bytes = static_cast<std::size_t>(n);
    const std::size_t hello = std::min(bytes, uncounted_);
    uncounted_ -= hello;
    if (wait_ != Clock::duration::zero()) history_.append(queue_.view().substr(hello, bytes - hello));
    queue_.consume(bytes);
    if (was_full && !is_full()) events_.room();
  }
  if (in_) watch_for_room(in_step_ && !queue_.empty());
}

void Channel::watch_for_room(bool wanted) {
  if (wanted == watched_) return;
  watched_ = wanted;
  if (!out_) {
    if (in_) loop_.change(in_.get(), wanted ? EPOLLIN | EPOLLOUT : EPOLLIN);
  } else if (wanted) {
    loop_.watch(out_.get(), EPOLLOUT, [](std::uint32_t) {});
  } else {
    loop_.forget(out_.get());
  }
}

void Channel::send_hello(const proto::GuestHello& hello) {
  ByteQueue first;
  proto::append_message(first, static_cast<std::uint8_t>(proto::GuestType::hello), proto::kHelloId,
                        proto::encode(hello));
  uncounted_ = first.size();
  first.append(queue_.view());
  queue_ = std::move(first);
}

Result<void> Channel::resume(std::uint64_t received, proto::GuestHello answer) {
  if (received < history_start_) return fail(Errc::protocol, "the keeper has lost what it had acknowledged");
  COVE_CHECK(acknowledge(received));
  ByteQueue again;
  again.append(history_.view());
  again.append(queue_.view().substr(uncounted_));
  history_ = ByteQueue();
  queue_ = std::move(again);
  in_step_ = true;
  answer.received = this->received();
  send_hello(answer);
  return {};
}

Result<void> Channel::acknowledge(std::uint64_t received) {
  if (received < history_start_) return {};  // sent before a break that has told us more since
  if (received - history_start_ > history_.size()) {
    return fail(Errc::protocol, "the keeper acknowledges what was not sent");
  }
  const bool was_full = is_full();
  history_.consume(static_cast<std::size_t>(received - history_start_));
  history_start_ = received;
  if (was_full && !is_full()) events_.room();
  return {};
}

}  // namespace cove::guest
