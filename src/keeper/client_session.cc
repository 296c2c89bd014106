#include "keeper/client_session.h"

#include <sys/socket.h>

#include <cerrno>

#include "keeper/json.h"

namespace cove::keeper {
namespace {

using proto::ClientType;

constexpr std::uint32_t kStdinStep = 64U << 10;
constexpr std::size_t kMostHeld = 1024;

}  // namespace

ClientSession::~ClientSession() {
  if (!command_) return;
  const std::shared_ptr<Command> command = command_;
  if (state_ == State::streaming && end_with_client_) {
    host_.commands().end(*command, proto::Ending::interrupted, "its client went away");
  }
  leave_command();
  host_.commands().grant(*command);
}

// A terminal outlives who looks at it; a pipe without a writer is at its end.
void ClientSession::leave_command() {
  if (!command_) return;
  command_->remove_reader(*this);
  if (command_->stdin.owner == this) {
    if (command_->running() && !command_->pty) host_.commands().stdin_eof(*command_, *this);
    command_->stdin.owner = nullptr;
  }
  if (command_->gone()) command_->log.settle();
  command_.reset();
  live = false;
}

Result<void> ClientSession::on_readable() {
  const std::span<char> space = reader_.space();
  const ssize_t n = recv(fd(), space.data(), space.size(), MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return {};
  if (n <= 0) return fail(Errc::disconnected, "the client is gone");
  reader_.filled(static_cast<std::size_t>(n));
  while (true) {
    COVE_TRY(const auto message, reader_.next());
    if (!message) return {};
    COVE_CHECK(take(*message));
  }
}

Result<void> ClientSession::take(const proto::Message& message) {
  if (message.type > static_cast<std::uint8_t>(last(ClientType{})) || message.id != 0) {
    return fail(Errc::protocol, "a client sent an unknown message");
  }
  const auto type = static_cast<ClientType>(message.type);
  if (state_ == State::hello) {
    if (type != ClientType::hello) return fail(Errc::protocol, "a client did not say hello");
    return take_hello(message.payload);
  }
  if (type >= ClientType::stdin_data && type <= ClientType::interrupt) return take_control(type, message.payload);
  if (type < ClientType::run || type > ClientType::stop)
    return fail(Errc::protocol, "a client sent a keeper's message");
  if (state_ != State::ready) return fail(Errc::protocol, "a client asked twice at once on one connection");
  auto taken = take_request(type, message.payload);
  if (taken || taken.error().code == Errc::protocol) return taken;
  answer_error(taken.error());
  return {};
}

Result<void> ClientSession::take_hello(std::string_view payload) {
  COVE_TRY(const auto hello, proto::decode<proto::Hello>(payload));
  if (hello.version != proto::kVersion) {
    answer_error({Errc::protocol, "the client speaks version " + std::to_string(hello.version) + ", the sandbox " +
                                      std::to_string(proto::kVersion) + ": start the sandbox again"});
    return {};
  }
  state_ = State::ready;
  reply(ClientType::hello, proto::Hello{});
  return {};
}

Result<void> ClientSession::take_request(ClientType type, std::string_view payload) {
  switch (type) {
    case ClientType::run: {
      COVE_TRY(const auto request, proto::decode<proto::Run>(payload));
      return run(request);
    }
    case ClientType::attach: {
      COVE_TRY(const auto request, proto::decode<proto::Attach>(payload));
      return attach(request);
    }
    case ClientType::status: {
      COVE_TRY(const auto request, proto::decode<proto::CommandRef>(payload));
      COVE_TRY(const auto found, host_.commands().find(request.id));
      reply(ClientType::json, proto::Text{to_json(found.command ? found.command->description() : found.outcome)});
      return {};
    }
    case ClientType::list: reply(ClientType::json, proto::Text{to_json(host_.commands().list())}); return {};
    case ClientType::inspect: reply(ClientType::json, proto::Text{host_.inspect()}); return {};
    case ClientType::signal_command: {
      COVE_TRY(const auto request, proto::decode<proto::SignalCommand>(payload));
      return signal_command(request);
    }
    case ClientType::feed: {
      COVE_TRY(const auto request, proto::decode<proto::Feed>(payload));
      return feed(request);
    }
    case ClientType::layers: {
      COVE_TRY(const auto request, proto::decode<proto::LayerRequest>(payload));
      if (request.verb != proto::LayerVerb::resume) COVE_CHECK(host_.accepting());
      state_ = State::waiting;
      host_.layers(*this, request);
      return {};
    }
    default: break;
  }
  COVE_TRY(const auto request, proto::decode<proto::StopRequest>(payload));
  state_ = State::stopping;
  host_.stop(*this, request);
  return {};
}

Result<void> ClientSession::signal_command(const proto::SignalCommand& request) {
  COVE_TRY(const auto found, host_.commands().find(request.id));
  if (!found.command) return fail(Errc::conflict, "command " + found.outcome.id + " has ended");
  COVE_CHECK(host_.commands().signal(*found.command, request.signal));
  answer_done();
  return {};
}

Result<void> ClientSession::feed(const proto::Feed& request) {
  COVE_TRY(const auto found, host_.commands().find(request.id));
  if (!found.command) return fail(Errc::conflict, "command " + found.outcome.id + " has ended");
  COVE_CHECK(host_.commands().feed(*found.command, request));
  answer_done();
  return {};
}

Result<void> ClientSession::run(const proto::Run& request) {
  // An id that is known is answered also while the sandbox goes down; nothing new is started then.
  if (auto accepting = host_.accepting(); !accepting) {
    auto known = request.id.empty() ? CommandTable::Started{}
                                    : host_.commands().find(request.id).value_or(CommandTable::Started{});
    if (!known.existed) return accepting;
  }
  if (host_.holding()) {
    held_ = request;
    state_ = State::held;
    return {};
  }
  COVE_TRY(auto started, host_.commands().run(request));
  own_run_ = !started.existed;
  to_the_end_ = true;
  background_ = request.background;
  end_with_client_ = request.end_with_client && own_run_;
  cursor = 0;
  live = !background_ && (request.live || (started.command && started.command->passing));
  if (own_run_ && request.start.with_stdin && !background_) started.command->stdin.owner = this;
  stdin_credit_ = proto::kStdinWindow;
  stdin_owed_ = 0;
  follow(std::move(started));
  return {};
}

void ClientSession::go_on() {
  if (!held_) return;
  const proto::Run request = *std::exchange(held_, std::nullopt);
  state_ = State::ready;
  const auto later = std::exchange(held_controls_, {});
  held_bytes_ = 0;
  if (auto started = run(request); !started) return answer_error(started.error());
  for (const auto& [type, payload] : later) [[maybe_unused]]
    const auto taken = take_control(type, payload);
}

// A client need not wait before it sends input: what comes while its command is held back is meant for that command.
Result<void> ClientSession::keep_for_later(ClientType type, std::string_view payload) {
  held_bytes_ += payload.size();
  if (held_bytes_ > proto::kStdinWindow || held_controls_.size() >= kMostHeld)
    return fail(Errc::protocol, "a client sent more to a command than it may before it has started");
  held_controls_.emplace_back(type, payload);
  return {};
}

Result<void> ClientSession::attach(const proto::Attach& request) {
  COVE_TRY(auto found, host_.commands().find(request.id));
  own_run_ = background_ = end_with_client_ = false;
  to_the_end_ = request.follow;
  cursor = request.from;
  live = request.live && request.follow;
  stop_at_ = found.command ? found.command->log.end() : 0;
  stdin_credit_ = proto::kStdinWindow;
  stdin_owed_ = 0;
  follow(std::move(found));
  return {};
}

void ClientSession::follow(CommandTable::Started found) {
  if (!found.command) {  // long ago: only how it ended is known
    reply(ClientType::started, proto::CommandStarted{found.outcome.id, true});
    if (!background_) reply(ClientType::outcome, found.outcome);
    return;
  }
  command_ = std::move(found.command);
  command_->add_reader(*this);
  if (background_) {
    state_ = State::starting;
    wake();
    return;
  }
  state_ = State::streaming;
  const proto::CommandStarted started{command_->id, found.existed};
  proto::append_message(out_, static_cast<std::uint8_t>(ClientType::started), 0, proto::encode(started));
  // A short command's `started`, output and outcome leave in one write.
  if (own_run_)
    host_.wants_pump_soon(*this);
  else
    wake();
}

// A background command is answered when the guest has said that it runs, so that `started` is never a guess.
void ClientSession::finish_start() {
  if (!command_->has_started()) return;
  const proto::Outcome outcome = command_->outcome();
  const proto::CommandStarted started{command_->id, !own_run_};
  leave_command();
  state_ = State::ready;
  if (own_run_ && !outcome.error_text.empty())
    answer_error({outcome.error, outcome.error_text});
  else
    reply(ClientType::started, started);
}

// What comes after the request has ended was under way while the outcome came back: it is too late, not wrong.
Result<void> ClientSession::take_control(ClientType type, std::string_view payload) {
  if (state_ == State::held) return keep_for_later(type, payload);
  if (state_ != State::streaming) return {};
  CommandTable& commands = host_.commands();
  switch (type) {
    case ClientType::stdin_data:
      if (payload.size() > stdin_credit_)
        return fail(Errc::protocol, "a client sent more stdin than it had credit for");
      stdin_credit_ -= static_cast<std::uint32_t>(payload.size());
      commands.stdin_data(*command_, *this, payload);
      return {};
    case ClientType::stdin_eof: commands.stdin_eof(*command_, *this); return {};
    case ClientType::interrupt: commands.end(*command_, proto::Ending::interrupted, ""); return {};
    case ClientType::resize: {
      COVE_TRY(const auto size, proto::decode<proto::Resize>(payload));
      commands.resize(*command_, size);
      return {};
    }
    default: break;
  }
  COVE_TRY(const auto signal, proto::decode<proto::Signal>(payload));
  [[maybe_unused]] const auto sent = commands.signal(*command_, signal);
  return {};
}

void ClientSession::stdin_taken(std::uint32_t bytes) {
  stdin_owed_ += bytes;
  if (stdin_owed_ < kStdinStep) return;
  stdin_credit_ += stdin_owed_;
  reply(ClientType::stdin_credit, proto::Credit{std::exchange(stdin_owed_, 0)});
}

void ClientSession::stdin_closed() { reply(ClientType::stdin_credit, proto::Credit{0}); }

void ClientSession::answer_done() {
  state_ = State::ready;
  proto::append_message(out_, static_cast<std::uint8_t>(ClientType::done), 0, {});
  wake();
}

void ClientSession::answer_error(const Error& error) {
  if (state_ != State::hello) state_ = State::ready;
  reply(ClientType::error, proto::ErrorReply{error.code, error.message});
}

void ClientSession::answer_json(std::string json) {
  state_ = State::ready;
  reply(ClientType::json, proto::Text{std::move(json)});
}

void ClientSession::trim() {
  if (reader_.empty()) reader_ = proto::MessageReader();
  if (out_.empty()) out_ = ByteQueue();
}

}  // namespace cove::keeper
