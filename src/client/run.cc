#include <cstring>

#include "base/log.h"
#include "client/conversation.h"
#include "client/pool.h"

namespace cove {
namespace {

proto::Run to_message(const CommandSpec& command, const CommandIo& io) {
  proto::Run run;
  run.id = command.id;
  run.timeout_ms = static_cast<std::uint64_t>(std::max<std::int64_t>(command.timeout.count(), 0));
  run.end_with_client = command.end_with_client;
  run.live = io.output != nullptr;
  proto::Start& start = run.start;
  start.kind = command.argv.empty() ? proto::CommandKind::script : proto::CommandKind::argv;
  start.session = command.session;
  start.script = command.script;
  start.argv = command.argv;
  start.env = command.env;
  start.cwd = command.cwd;
  start.user = command.user;
  start.with_stdin = io.stdin_fd >= 0 || io.stdin_bytes.data() != nullptr;
  start.split = command.split;
  start.pty = command.pty;
  start.apart = command.apart;
  start.rows = command.rows;
  start.columns = command.columns;
  return run;
}

StdinSource stdin_of(const CommandIo& io) {
  if (io.stdin_fd >= 0) return {.fd = io.stdin_fd, .pull = {}};
  if (io.stdin_bytes.data() == nullptr) return {};
  return {.fd = -1, .pull = [left = io.stdin_bytes](std::span<char> space) mutable -> Result<std::size_t> {
            const std::size_t n = std::min(space.size(), left.size());
            if (n > 0) std::memcpy(space.data(), left.data(), n);
            left.remove_prefix(n);
            return n;
          }};
}

// What a caller's callback throws must not end the conversation with a command that runs.
void tell_activity(const CommandIo& io) {
  try {
    io.activity();
  } catch (...) {
    log_event("activity callback threw");
  }
}

// The call that goes on once the command is approved.
Result<Call> ask_approval(const CommandIo& io, const Call& call) {
  if (!io.approve) return call;
  if (call.stop.stop_requested()) return fail(Errc::cancelled, "the call was stopped before the command was approved");
  if (!io.approve()) return fail(Errc::denied, "the command was not approved; nothing was run");
  Call approved = call;
  if (call.stop.stop_requested()) approved.stop = {};
  return approved;
}

Result<void> check(const CommandSpec& command) {
  if (command.argv.empty() || command.script.empty()) return {};
  return fail(Errc::invalid, "a command is either a script or a program, not both");
}

}  // namespace

Result<Outcome> Sandbox::converse(Conversation& conversation, const CommandIo& io) {
  while (true) {
    auto event = conversation.next();
    if (!event) return fail(explain(std::move(event).error(), conversation.id()));
    if (auto* outcome = std::get_if<Outcome>(&*event)) return std::move(*outcome);
    if (const auto* output = std::get_if<Conversation::Output>(&*event)) {
      if (io.output) io.output(output->stream, output->bytes);
    } else if (std::holds_alternative<Conversation::StillRunning>(*event)) {
      tell_activity(io);
    } else if (io.started) {
      io.started(conversation.id());
    }
  }
}

Result<Outcome> Sandbox::run(const CommandSpec& command, const CommandIo& io, const Call& call) {
  COVE_CHECK(check(command));
  COVE_TRY(const Call approved, ask_approval(io, call));
  COVE_TRY(auto connection, request(proto::ClientType::run, proto::encode(to_message(command, io))));
  Conversation conversation(*connection, stdin_of(io), io.control, approved);
  if (io.leave_on_stop) conversation.leave_when_stopped();
  if (io.activity) conversation.tell_every(std::max(io.activity_every, std::chrono::milliseconds(1)));
  COVE_TRY(Outcome outcome, converse(conversation, io));
  give_back(std::move(connection));
  // 126 and 127 are how a shell tells that a directory or a program is not there: outcomes, with words to go with them.
  if (outcome.error_text.empty() || outcome.exit_code == 126 || outcome.exit_code == 127) return outcome;
  return fail(outcome.error, std::move(outcome.error_text));
}

Result<Completed> Sandbox::collect(const CommandSpec& command, const CommandIo& io, const Call& call) {
  Completed completed;
  CommandIo collecting = io;
  collecting.output = [&](Stream stream, std::string_view bytes) {
    completed.output += bytes;
    if (io.output) io.output(stream, bytes);
  };
  COVE_TRY(completed.outcome, run(command, collecting, call));
  return completed;
}

Result<Completed> Sandbox::sh(std::string script, const Call& call) {
  CommandSpec command;
  command.script = std::move(script);
  return collect(command, {}, call);
}

Result<std::string> Sandbox::start(const CommandSpec& command, const Call& call) {
  COVE_CHECK(check(command));
  proto::Run message = to_message(command, {});
  message.background = true;
  message.start.with_stdin = command.open_stdin;
  COVE_TRY(const std::string reply,
           ask(proto::ClientType::run, proto::encode(message), proto::ClientType::started, call));
  COVE_TRY(auto started, proto::decode<proto::CommandStarted>(reply));
  return std::move(started.id);
}

Result<Outcome> Sandbox::attach(const proto::Attach& what, const CommandIo& io, const Call& call) {
  COVE_TRY(auto connection, request(proto::ClientType::attach, proto::encode(what)));
  Conversation conversation(*connection, stdin_of(io), io.control, call);
  if (io.leave_on_stop) conversation.leave_when_stopped();
  if (io.activity) conversation.tell_every(std::max(io.activity_every, std::chrono::milliseconds(1)));
  COVE_TRY(Outcome outcome, converse(conversation, io));
  give_back(std::move(connection));
  return outcome;
}

}  // namespace cove
