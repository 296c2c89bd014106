#include "keeper/command.h"

#include <algorithm>

namespace cove::keeper {
namespace {

constexpr std::size_t kMaxCwd = std::size_t{16} << 10;
constexpr std::size_t kMaxText = std::size_t{64} << 10;
constexpr std::uint64_t kLongestUs = 1ULL << 40;
constexpr std::uint32_t kCreditStep = proto::kOutputWindow / 4;

bool is_passing(const proto::Start& start) {
  return start.kind == proto::CommandKind::file || start.kind == proto::CommandKind::connect;
}

std::uint64_t microseconds_since(Clock::time_point start) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start).count());
}

std::string beginning_of(const proto::Start& start) {
  constexpr std::size_t kEnough = 200;
  std::string text = start.script.substr(0, kEnough);
  for (const std::string& argument : start.argv) {
    if (text.size() < kEnough) text += (text.empty() ? "" : " ") + argument.substr(0, kEnough);
  }
  return text;
}

}  // namespace

Command::Command(std::string the_id, std::uint32_t the_number, const proto::Start& start, OutputLog the_log)
    : id(std::move(the_id)),
      number(the_number),
      kind(start.kind),
      session(start.session),
      text(beginning_of(start)),
      with_stdin(start.with_stdin),
      pty(start.pty),
      passing(is_passing(start) && id.starts_with('~')),
      log(std::move(the_log)) {
  outcome_.id = id;
  stdin.closed = !with_stdin;
}

Command::Command(const SavedCommand& saved, OutputLog the_log)
    : Command(saved.id, saved.number,
              {.kind = saved.kind,
               .session = saved.session,
               .script = saved.text,
               .with_stdin = saved.with_stdin,
               .pty = saved.pty},
              std::move(the_log)) {
  outcome_ = saved.outcome;
  outcome_.id = id;
  log.begin_at(saved.output_bytes);
  started_at_ = Clock::now() - std::chrono::microseconds(std::min(saved.outcome.duration_us, kLongestUs));
  cause_ = saved.cause;
  cause_detail_ = saved.cause_detail;
  started_ = saved.started;
  overdue = saved.overdue;
  timeout_ms = saved.timeout_ms;
  if (timeout_ms != 0)
    timeout = Deadline::after(std::chrono::milliseconds(std::min(saved.timeout_left_ms, kLongestUs)));
  credit_ = saved.credit;
  ungranted_ = saved.ungranted;
  stdin.credit = saved.stdin_credit;
  stdin.waiting.append(saved.stdin_waiting);
  stdin.eof_waiting = saved.stdin_eof_waiting;
  stdin.closed = saved.stdin_closed;
}

SavedCommand Command::save() const {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(timeout.at() - Clock::now()).count();
  return {.id = id,
          .session = session,
          .text = text,
          .number = number,
          .kind = kind,
          .with_stdin = with_stdin,
          .pty = pty,
          .started = started_,
          .overdue = overdue,
          .outcome = outcome(),
          .cause = cause_,
          .cause_detail = cause_detail_,
          .timeout_ms = timeout_ms,
          .timeout_left_ms = timeout_ms != 0 && left > 0 ? static_cast<std::uint64_t>(left) : 0,
          .output_bytes = log.end(),
          .credit = credit_,
          .ungranted = ungranted_,
          .stdin_credit = stdin.credit,
          .stdin_waiting = std::string(stdin.waiting.view()),
          .stdin_eof_waiting = stdin.eof_waiting,
          .stdin_closed = stdin.closed};
}

proto::Outcome Command::outcome() const {
  proto::Outcome now = outcome_;
  if (running()) {
    now.duration_us = microseconds_since(started_at_);
    now.output_bytes = log.end();
  }
  // Every byte of a passing command reaches its reader: it waits instead of outrunning it.
  now.truncated = !passing && log.truncated();
  return now;
}

bool Command::end_because(proto::Ending cause, std::string detail) {
  if (!running() || cause_ != proto::Ending::running) return false;
  cause_ = cause;
  cause_detail_ = std::move(detail);
  return true;
}

void Command::set_exited(proto::Exited exited) {
  using proto::Ending;
  outcome_.exit_code = exited.exit_code;
  outcome_.signal = exited.signal;
  outcome_.ending = exited.signal != 0 ? Ending::signaled : Ending::exited;
  if (exited.oom) outcome_.ending = Ending::oom;
  if (cause_ != Ending::running) outcome_.ending = cause_;
  if (cause_ == Ending::timeout) outcome_.exit_code = 124;
  if (cause_ == Ending::interrupted) outcome_.exit_code = 130;
  outcome_.detail = std::move(cause_detail_);
  if (exited.cwd.size() <= kMaxCwd) outcome_.cwd = std::move(exited.cwd);
  outcome_.error = exited.error;
  outcome_.error_text = exited.error_text.substr(0, kMaxText);
  outcome_.duration_us = microseconds_since(started_at_);
  outcome_.output_bytes = log.end();
  stdin.closed = true;
  stdin.waiting.clear();
}

std::string Command::last_output() const {
  constexpr std::uint64_t kBytes = 4096;
  std::string all, scratch;
  std::uint64_t at = log.end() > kBytes ? log.end() - kBytes : 0;
  while (const auto piece = log.read(at, scratch)) {
    all += piece->bytes;
    at = piece->offset + piece->bytes.size();
  }
  return all;
}

void Command::set_lost(const std::string& why) {
  if (running()) {
    set_exited({});
    // A command that we were ending anyway has been ended: nothing is left of it either way.
    if (outcome_.ending == proto::Ending::exited) {
      outcome_.ending = proto::Ending::lost;
      outcome_.exit_code = 125;
      outcome_.detail = why;
    }
  }
  set_gone();
}

void Command::set_gone() {
  gone_ = true;
  log.settle();
}

std::uint64_t Command::first_needed() const {
  std::uint64_t first = log.end();
  for (const Reader* reader : readers_) {
    if (reader->live) first = std::min(first, reader->cursor);
  }
  return first;
}

Result<void> Command::append_output(proto::Stream stream, std::string_view bytes) {
  if (bytes.size() > credit_) return fail(Errc::protocol, "the guest sent more output than it had credit for");
  credit_ -= static_cast<std::uint32_t>(bytes.size());
  ungranted_ += static_cast<std::uint32_t>(bytes.size());
  log.append(stream, bytes, first_needed());
  return {};
}

std::uint32_t Command::take_credit() {
  if (ungranted_ < kCreditStep) return 0;
  if (log.past_cap() && log.end() - first_needed() > OutputLog::kWindowBytes) return 0;
  credit_ += ungranted_;
  return std::exchange(ungranted_, 0);
}

}  // namespace cove::keeper
