#include "keeper/keeper.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/log.h"
#include "keeper/json.h"
#include "os/own_memory.h"

namespace cove::keeper {
namespace {

using namespace std::chrono_literals;
using proto::GuestType;

enum Token : std::uint64_t {
  listener_token,
  guest_token,
  guest_room_token,
  gone_token,
  lifetime_token,
  signal_token,
  asker_token,
  first_client_token = 16
};

constexpr auto kSoon = 2ms;  // how long `started` waits for company
constexpr auto kQuiet = 1s;  // after this long without work, memory is given back
constexpr auto kSaveInterval = 2s;

bool is_allowed(int socket) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && (peer.uid == geteuid() || peer.uid == 0);
}

}  // namespace

Keeper::Keeper(KeeperParts parts)
    : record_(std::move(parts.record)),
      spec_(std::move(parts.spec)),
      place_(std::move(parts.place)),
      guest_(std::move(parts.channel)),
      listener_(std::move(parts.listener)),
      signals_(std::move(parts.signals)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      commands_(guest_, record_, spec_),
      next_token_(first_client_token) {
  if (spec_.max_duration_ms != 0) max_duration_ = Deadline::after(std::chrono::milliseconds(spec_.max_duration_ms));
  commands_.memory_kills = [this] { return place_->oom_kills(); };
  commands_.exited = [this](Command& command) {
    if (spec_.persistent && command.kind == proto::CommandKind::script) sessions_changed_ = true;
    if (spec_.checkpoint) ended_.push_back({{.outcome = command.outcome(), .text = command.text}, command.passing});
  };
}

Result<void> Keeper::watch(int fd, std::uint64_t token, std::uint32_t events) {
  if (fd < 0) return {};
  epoll_event event{};
  event.events = events;
  event.data.u64 = token;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) < 0 && errno != EEXIST)
    return fail_errno("watch a descriptor");
  return {};
}

Result<void> Keeper::watch_guest() { return watch(guest_.in_fd(), guest_token, EPOLLIN); }

Result<void> Keeper::watch_gone() { return watch(place_->gone_fd(), gone_token, EPOLLIN); }

Result<void> Keeper::say_hello(Deadline deadline) {
  proto::KeeperHello hello;
  for (const auto& [key, value] : spec_.env) hello.env.push_back(key + "=" + value);
  hello.unsaved = spec_.env_names_forwarded;
  hello.cwd = spec_.cwd;
  hello.login = spec_.login;
  hello.inherits = spec_.inherits;
  if (!spec_.inherits) hello.user = spec_.user;  // otherwise the guest is that user
  hello.prepared = spec_.prepared;
  hello.split = spec_.split;
  hello.reconnect_ms = static_cast<std::uint32_t>(place_->reconnect_within().count());
  if (hello.reconnect_ms > 0) guest_.keep_history();
  guest_.send(GuestType::hello, 0, hello);
  bool answered = false;
  const auto take_hello = [&](const proto::Message& message) -> Result<void> {
    if (message.type != static_cast<std::uint8_t>(GuestType::hello)) {
      return fail(Errc::protocol, "the guest did not say hello");
    }
    COVE_TRY(hello_, proto::decode<proto::GuestHello>(message.payload));
    answered = true;
    return {};
  };
  while (!answered) {
    const bool listens = guest_.flush().has_value();  // or what it said last, or its place, tells why not
    std::array<pollfd, 2> fds{pollfd{guest_.in_fd(), POLLIN, 0},
                              pollfd{listens && guest_.blocked() ? guest_.out_fd() : -1, POLLOUT, 0}};
    poll(fds.data(), fds.size(), deadline.poll_timeout());
    COVE_TRY(const auto read, guest_.receive(take_hello));
    if (read == GuestLink::Read::end) {
      const bool known = place_is_gone(1s);
      COVE_CHECK(place_->started());
      return fail(Errc::disconnected,
                  (known ? place_->ended().why : "the guest closed its channel") + " before it was ready");
    }
    if (!answered && deadline.passed()) return fail(Errc::timeout, "the guest did not answer in time");
  }
  if (hello_.version != proto::kVersion) {
    return fail(Errc::protocol, "the guest speaks version " + std::to_string(hello_.version) + ", the keeper " +
                                    std::to_string(proto::kVersion) + ": install both from one release");
  }
  place_->has_answered();
  return {};
}

Result<void> Keeper::greet(Deadline deadline) {
  COVE_CHECK(commands_.remember());
  if (spec_.from.empty()) {
    COVE_CHECK(say_hello(deadline));
  } else {
    COVE_TRY(const auto saved, record::find_snapshot(spec_.from));
    if (!saved.memory.empty()) {
      COVE_CHECK(go_on_with(saved, deadline));
      return guest_.flush();
    }
    COVE_CHECK(say_hello(deadline));
    give_sessions(saved.sessions);
    before_ = saved.sessions;
  }
  if (!spec_.persistent) return guest_.flush();
  COVE_TRY(const auto sessions, record_.sessions());
  for (const auto& [name, state] : sessions) {
    guest_.send(GuestType::restore_session, 0, proto::SessionState{name, state});
    saved_sessions_[name] = std::hash<std::string>{}(state);
    before_[name] = state;
  }
  recall_history();
  return guest_.flush();
}

// Descriptors of the old one have left the loop by being closed.
Result<void> Keeper::meet_new_guest(Deadline deadline) {
  commands_.lose_all("its sandbox went back to an earlier state");
  guest_.close();
  guest_watched_for_room_ = false;
  COVE_TRY(Channel channel, place_->connect(deadline));
  guest_ = GuestLink(std::move(channel));
  COVE_CHECK(say_hello(deadline));
  COVE_CHECK(watch_guest());
  return watch(place_->gone_fd(), gone_token, EPOLLIN);
}

Result<void> Keeper::run() {
  COVE_CHECK(watch(listener_.get(), listener_token, EPOLLIN));
  COVE_CHECK(watch_guest());
  COVE_CHECK(watch_gone());
  COVE_CHECK(watch(lifetime_.get(), lifetime_token, EPOLLIN));
  COVE_CHECK(watch(signals_.get(), signal_token, EPOLLIN));
  COVE_CHECK(watch(asker_.get(), asker_token, EPOLLIN));
  note_idleness();
  trim_at_ = Deadline::after(kQuiet);
  std::array<epoll_event, 64> events{};
  while (phase_ != Phase::over) {
    const int n = epoll_wait(epoll_.get(), events.data(), events.size(), next_deadline().poll_timeout());
    if (n < 0 && errno != EINTR) return fail_errno("wait for events");
    for (int i = 0; i < n && phase_ != Phase::over; ++i) dispatch(events[i].data.u64, events[i].events);
    if (phase_ == Phase::over) break;
    tick();
    reconnect();
    if (phase_ == Phase::over) break;
    flush_guest();
    pump_all();
    flush_guest();
    if (begin_checkpoint()) flush_guest();
    advance();
    note_idleness();
  }
  return {};
}

void Keeper::dispatch(std::uint64_t token, std::uint32_t events) {
  switch (token) {
    case listener_token: return accept_clients();
    case guest_token: return read_guest();
    case guest_room_token: return;  // the loop flushes
    case gone_token: return guest_gone();
    case lifetime_token: {
      char byte = 0;
      if (read(lifetime_.get(), &byte, 1) > 0) return;
      epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, lifetime_.get(), nullptr);
      return begin_end({"its owner is gone", true, !spec_.persistent}, 500);
    }
    case signal_token: {
      std::array<char, 128> info{};
      [[maybe_unused]] const auto n = read(signals_.get(), info.data(), info.size());
      return begin_end({"the keeper was told to end (SIGTERM)", true, false}, 2000);
    }
    case asker_token: return hear_claim();
    default: return serve(token, events);
  }
}

void Keeper::live_with(UniqueFd owner) { lifetime_ = std::move(owner); }

void Keeper::await_claim(UniqueFd asker, Begun begun) {
  asker_ = std::move(asker);
  begun_ = begun;
}

void Keeper::hear_claim() {
  char byte = 0;
  const ssize_t n = recv(asker_.get(), &byte, 1, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  // Taken off first: a child that has not come to its exec still holds it, and it would be told of for ever.
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, asker_.get(), nullptr);
  asker_.reset();
  if (n <= 0) begin_end({"whoever asked for it is gone", true, begun_ == Begun::anew}, 500);
}

void Keeper::accept_clients() {
  while (true) {
    UniqueFd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
      // Out of descriptors: the listener stays readable, so it is left alone for a moment instead of spun upon.
      if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
        epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listener_.get(), nullptr);
        accept_again_ = Deadline::after(100ms);
      }
      return;
    }
    if (!is_allowed(socket.get())) continue;
    const std::uint64_t token = next_token_++;
    if (!watch(socket.get(), token, EPOLLIN)) continue;
    auto session = std::make_unique<ClientSession>(*this, std::move(socket));
    session->token = token;
    sessions_.emplace(token, std::move(session));
  }
}

void Keeper::serve(std::uint64_t token, std::uint32_t events) {
  const auto found = sessions_.find(token);
  if (found == sessions_.end()) return;
  ClientSession& session = *found->second;
  if ((events & EPOLLOUT) != 0) wants_pump(session);
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0) return;
  idle_since_.reset();
  if (const auto read = session.on_readable(); !read) {
    if (read.error().code == Errc::protocol) log_event("client.dropped", {{"error", read.error().message}});
    drop(token);
  }
}

void Keeper::drop(std::uint64_t token) {
  const auto found = sessions_.find(token);
  if (found == sessions_.end()) return;
  std::erase(to_pump_, found->second.get());
  std::erase(stop_waiters_, found->second.get());
  sessions_.erase(found);
}

void Keeper::wants_pump(ClientSession& session) {
  if (std::exchange(session.pump_queued, true)) return;
  to_pump_.push_back(&session);
}

void Keeper::wants_pump_soon(ClientSession& session) {
  to_pump_soon_.emplace_back(Clock::now() + kSoon, session.token);
}

void Keeper::pump_all() {
  // What pumping asks for again is done after the next look at the events.
  std::vector<ClientSession*> now;
  now.swap(to_pump_);
  for (ClientSession* session : now) session->pump_queued = false;
  for (ClientSession* session : now) pump(*session);
}

void Keeper::pump(ClientSession& session) {
  const bool was_blocked = session.blocked();
  if (!session.pump()) return drop(session.token);
  if (session.blocked() == was_blocked) return;
  epoll_event event{};
  event.events = session.blocked() ? EPOLLIN | EPOLLOUT : EPOLLIN;
  event.data.u64 = session.token;
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, session.fd(), &event);
}

void Keeper::read_guest() {
  const auto read = guest_.receive([this](const proto::Message& message) { return take(message); });
  if (!read) return lose_guest("the guest broke the protocol: " + read.error().message);
  if (*read == GuestLink::Read::end) guest_gone();
}

Result<void> Keeper::take(const proto::Message& message) {
  if (message.type > static_cast<std::uint8_t>(last(GuestType{}))) {
    return fail(Errc::protocol, "a message of an unknown type");
  }
  switch (static_cast<GuestType>(message.type)) {
    case GuestType::session_state: return take_session(message.payload);
    case GuestType::ping: guest_.send(GuestType::pong, message.id, message.payload); return {};
    case GuestType::pong: return {};
    default: return commands_.take(message);
  }
}

Result<void> Keeper::take_session(std::string_view payload) {
  COVE_TRY(const auto state, proto::decode<proto::SessionState>(payload));
  if (state.session.empty()) {
    if (session_answers_due_ > 0 && --session_answers_due_ == 0) do_layer_work();
    return {};
  }
  if (!layer_work_.empty()) heard_[state.session] = state.state;
  save_session(state.session, state.state);
  return {};
}

void Keeper::save_session(const std::string& session, const std::string& state) {
  const std::size_t hash = std::hash<std::string>{}(state);
  const auto known = saved_sessions_.find(session);
  if (!spec_.persistent || (known != saved_sessions_.end() && known->second == hash)) return;
  if (const auto saved = record_.save_session(session, state); !saved)
    return log_event("session.not_saved", {{"error", saved.error().message}});
  saved_sessions_[session] = hash;
}

void Keeper::flush_guest() {
  if (phase_ == Phase::over) return;
  if (!guest_.flush()) return guest_gone();
  if (!guest_.is_open()) return;
  if (guest_.blocked() == guest_watched_for_room_) return;
  guest_watched_for_room_ = guest_.blocked();
  if (guest_watched_for_room_) [[maybe_unused]]
    const auto watched = watch(guest_.out_fd(), guest_room_token, EPOLLOUT);
  else
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, guest_.out_fd(), nullptr);
}

// What the guest wrote before it went is still in the channel.
void Keeper::guest_gone() {
  while (phase_ != Phase::over) {
    const auto read = guest_.receive([this](const proto::Message& message) { return take(message); });
    if (!read) return lose_guest("the guest broke the protocol: " + read.error().message);
    if (*read != GuestLink::Read::some) break;
  }
  if (can_reconnect()) return lose_channel();
  const bool known = place_is_gone(1s);
  lose_guest(known ? place_->ended().why : "the guest closed its channel");
}

void Keeper::lose_guest(const std::string& why) {
  if (phase_ == Phase::over) return;
  log_event("guest.gone", {{"why", why}});
  if (phase_ == Phase::serving) fate_ = {why, false, false};
  finish();
}

Deadline Keeper::next_deadline() const {
  Deadline next = earlier(commands_.next_deadline(), earlier(max_duration_, phase_deadline_));
  next = earlier(next, earlier(accept_again_, trim_at_));
  next = earlier(next, next_reconnect());
  if (!to_pump_.empty()) return Deadline(Clock::time_point{});
  if (!to_pump_soon_.empty()) next = earlier(next, Deadline(to_pump_soon_.front().first));
  if (idle_since_ && spec_.idle_timeout_ms != 0 && phase_ == Phase::serving) {
    next = earlier(next, Deadline(*idle_since_ + std::chrono::milliseconds(spec_.idle_timeout_ms)));
  }
  if (sessions_changed_ && phase_ == Phase::serving) next = earlier(next, Deadline(sessions_asked_ + kSaveInterval));
  return next;
}

void Keeper::tick() {
  const auto now = Clock::now();
  commands_.tick();
  while (!to_pump_soon_.empty() && to_pump_soon_.front().first <= now) {
    const auto found = sessions_.find(to_pump_soon_.front().second);
    to_pump_soon_.pop_front();
    if (found != sessions_.end()) wants_pump(*found->second);
  }
  if (accept_again_.passed()) {
    accept_again_ = Deadline::never();
    [[maybe_unused]] const auto watched = watch(listener_.get(), listener_token, EPOLLIN);
  }
  if (phase_ != Phase::serving) return;
  if (sessions_changed_ && sessions_asked_ + kSaveInterval <= now) save_sessions();
  if (max_duration_.passed()) {
    max_duration_ = Deadline::never();
    begin_end({"it reached its maximum duration", false, false}, 2000);
  } else if (idle_since_ && spec_.idle_timeout_ms != 0 &&
             *idle_since_ + std::chrono::milliseconds(spec_.idle_timeout_ms) <= now) {
    begin_end({"it was idle for longer than its idle timeout", false, false}, 2000);
  }
}

bool Keeper::is_idle() const {
  if (commands_.unfinished() > 0) return false;
  for (const auto& [token, session] : sessions_) {
    if (session->busy()) return false;
  }
  return true;
}

void Keeper::note_idleness() {
  if (commands_.unfinished() > 0 || (spec_.idle_timeout_ms != 0 && !is_idle())) {
    idle_since_.reset();
    trim_at_ = Deadline::never();
    return;
  }
  const auto now = Clock::now();
  if (!idle_since_) {
    idle_since_ = now;
    trim_at_ = Deadline(now + kQuiet);
  } else if (!trim_at_.is_never() && trim_at_.at() <= now) {
    trim_at_ = Deadline::never();
    guest_.trim();
    for (auto& [token, session] : sessions_) session->trim();
    if (!std::exchange(swept_, true)) record::sweep();
    os::give_memory_back();
  }
}

}  // namespace cove::keeper
