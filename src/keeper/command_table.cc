#include "keeper/command_table.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>

#include "backend/traits.h"
#include "base/log.h"
#include "keeper/hint.h"

namespace cove::keeper {
namespace {

using proto::Ending;
using proto::GuestType;

// A file with a name, because a thousand finished commands may have one and descriptors are few. It lies in the record,
// so whoever clears that clears it too. A number of an earlier life of a persistent sandbox is taken over.
UniqueFd log_file(int directory, std::uint32_t number, OutputLog::FileUse use) {
  if (use == OutputLog::FileUse::make) mkdirat(directory, "logs", 0700);
  const UniqueFd logs(openat(directory, "logs", O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!logs) return UniqueFd();
  const std::string name = std::to_string(number);
  if (use == OutputLog::FileUse::remove) {
    unlinkat(logs.get(), name.c_str(), 0);
    return UniqueFd();
  }
  const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | (use == OutputLog::FileUse::make ? O_CREAT | O_TRUNC : 0);
  return UniqueFd(openat(logs.get(), name.c_str(), flags, 0600));
}

constexpr std::chrono::seconds kReportTime{5};  // from the KILL to the guest's word about it

std::uint64_t hash_of(const std::string& id) { return std::hash<std::string>{}(id); }

std::string in_seconds(std::uint64_t ms) {
  std::string text = std::to_string(ms / 1000);
  if (ms % 1000 != 0) text += "." + std::to_string(1000 + ms % 1000).substr(1);
  return text + " s";
}

}  // namespace

Result<void> check_id(const std::string& id) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._:@/+=-").find(c) != std::string_view::npos;
  };
  if (!id.empty() && id.size() <= 128 && std::all_of(id.begin(), id.end(), good)) return {};
  return fail(Errc::invalid,
              "'" + id.substr(0, 128) + "' cannot be a command's id: use at most 128 letters, digits and ._:@/+=-");
}

CommandTable::CommandTable(GuestLink& guest, const record::Record& record, const SandboxSpec& spec)
    : guest_(guest), record_(record), spec_(spec) {}

// Our own ids need no memory: every number below the next one was used.
bool CommandTable::is_own(const std::string& id) const {
  if (id.size() < 2 || id.size() > 18 || id[0] != 'c' || id[1] == '0') return false;
  if (id.find_first_not_of("0123456789", 1) != std::string::npos) return false;
  return std::stoull(id.substr(1)) < next_id_;
}

Result<void> CommandTable::remember() {
  COVE_TRY(auto outcomes, record_.journal());
  next_id_ = outcomes.size() + 1;
  for (const proto::Outcome& outcome : outcomes) {
    if (!is_own(outcome.id)) forgotten_.insert(hash_of(outcome.id));
    last_id_ = outcome.id;
  }
  return {};
}

SavedCommands CommandTable::save() const {
  SavedCommands saved{.commands = {},
                      .sessions = {sessions_.begin(), sessions_.end()},
                      .next_number = next_number_,
                      .next_id = next_id_};
  for (const auto& [number, command] : by_number_) saved.commands.push_back(command->save());
  return saved;
}

Result<void> CommandTable::go_on_with(const SavedCommands& saved) {
  for (const SavedCommand& command : saved.commands) {
    const bool named = command.id.starts_with('~') || check_id(command.id).has_value();
    if (!named || command.number == 0 || command.number >= saved.next_number || by_number_.contains(command.number))
      return fail(Errc::invalid, "what is saved about its commands is damaged");
    adopt(command);
  }
  sessions_.insert(saved.sessions.begin(), saved.sessions.end());
  next_number_ = std::max(next_number_, saved.next_number);
  next_id_ = std::max(next_id_, saved.next_id);
  return {};
}

void CommandTable::adopt(const SavedCommand& saved) {
  for (const CommandPtr& before : finished_) {
    if (before->number == saved.number) before->log.drop();  // it is this one's file now
  }
  auto command = std::make_shared<Command>(saved, make_log(saved.kind, saved.number));
  by_number_.emplace(command->number, command);
  if (spec_.memory_bytes > 0) command->memory_kills_before = memory_kills();
  if (!command->passing) {
    [[maybe_unused]] const auto noted = record_.note_started(command->id);
    by_id_[command->id] = command;
    last_id_ = command->id;
  }
  if (!command->running()) {
    if (!command->passing) [[maybe_unused]]
      const auto noted = record_.note_ended(command->outcome());
    return;
  }
  ++running_;
  if (command->is_being_ended()) overdue_.emplace(Clock::now() + kReportTime, command->number);
  if (command->timeout_ms != 0) timeouts_.emplace(command->timeout.at(), command->number);
  if (command->passing) end(*command, Ending::interrupted, "whoever asked for it is not here", 0);
}

std::optional<proto::Outcome> CommandTable::find_in_journal(const std::string& id) const {
  if (!is_own(id) && !forgotten_.contains(hash_of(id))) return std::nullopt;
  auto outcomes = record_.journal();
  if (!outcomes) return std::nullopt;
  for (proto::Outcome& outcome : *outcomes) {
    if (outcome.id != id) continue;
    if (outcome.output_bytes > 0) outcome.truncated = true;
    return std::move(outcome);
  }
  return std::nullopt;
}

Result<std::string> CommandTable::choose_id(const proto::Run& request) {
  using proto::CommandKind;
  if (!request.id.empty()) {
    COVE_CHECK(check_id(request.id));
    return request.id;
  }
  if (request.start.kind == CommandKind::file || request.start.kind == CommandKind::connect) {
    return "~" + std::to_string(next_number_);
  }
  while (true) {
    std::string id = "c" + std::to_string(next_id_++);
    if (!by_id_.contains(id) && !forgotten_.contains(hash_of(id))) return id;
  }
}

OutputLog CommandTable::make_log(proto::CommandKind kind, std::uint32_t number) const {
  const bool bulk = kind == proto::CommandKind::file || kind == proto::CommandKind::connect;
  const std::uint64_t cap = bulk ? 0 : spec_.log_cap_bytes;
  return OutputLog(cap, [directory = record_.directory(), number](OutputLog::FileUse use) {
    return log_file(directory, number, use);
  });
}

Result<CommandTable::Started> CommandTable::run(const proto::Run& request) {
  if (!request.id.empty()) {
    if (auto known = find(request.id)) return known;
  }
  COVE_TRY(std::string id, choose_id(request));
  const std::uint32_t number = next_number_;
  auto command = std::make_shared<Command>(std::move(id), number, request.start, make_log(request.start.kind, number));
  if (!command->passing) {
    const auto noted = record_.note_started(command->id);
    // Without its line in the journal an id could be run again after a restart; our own ids are never asked for.
    if (!noted && !request.id.empty()) return fail(noted.error());
    by_id_.emplace(command->id, command);
    last_id_ = command->id;
  }
  if (request.start.kind == proto::CommandKind::script) sessions_.insert(request.start.session);
  ++next_number_;
  ++running_;
  if (spec_.memory_bytes > 0) command->memory_kills_before = memory_kills();
  by_number_.emplace(number, command);
  command->timeout_ms =
      request.timeout_ms != 0 || command->passing || command->pty ? request.timeout_ms : spec_.timeout_ms;
  if (command->timeout_ms != 0) {
    command->timeout =
        Deadline::after(std::chrono::milliseconds(std::min<std::uint64_t>(command->timeout_ms, 1ULL << 40)));
    timeouts_.emplace(command->timeout.at(), number);
  }
  guest_.send(GuestType::start, number, request.start);
  return Started{std::move(command), {}, false};
}

Result<CommandTable::Started> CommandTable::find(const std::string& wanted) {
  const std::string& id = wanted.empty() ? last_id_ : wanted;
  if (const auto known = by_id_.find(id); known != by_id_.end()) return Started{known->second, {}, true};
  if (auto outcome = find_in_journal(id)) return Started{nullptr, std::move(*outcome), true};
  if (wanted.empty()) return fail(Errc::not_found, "no command has been run in this sandbox yet");
  return fail(Errc::not_found, "no command '" + wanted.substr(0, 128) + "' was ever started in this sandbox");
}

std::vector<proto::Outcome> CommandTable::list() const {
  std::vector<const Command*> all;
  for (const auto& [id, command] : by_id_) all.push_back(command.get());
  std::sort(all.begin(), all.end(), [](const Command* a, const Command* b) { return a->number < b->number; });
  std::vector<proto::Outcome> outcomes;
  for (const Command* command : all) outcomes.push_back(command->description());
  return outcomes;
}

void CommandTable::end(Command& command, Ending cause, std::string detail, std::uint32_t grace_ms) {
  if (command.end_because(cause, std::move(detail))) {
    guest_.send(GuestType::signal, command.number, proto::Signal{0, grace_ms});
    overdue_.emplace(Clock::now() + std::chrono::milliseconds(grace_ms) + kReportTime, command.number);
  }
}

Result<void> CommandTable::signal(Command& command, const proto::Signal& signal) {
  if (signal.signal < 0 || signal.signal > 64) {
    return fail(Errc::invalid, "there is no signal " + std::to_string(signal.signal));
  }
  if (command.gone()) return fail(Errc::conflict, "command " + command.id + " has ended");
  // After the exit only the tree that it left behind can be ended, all of it.
  if (command.running())
    guest_.send(GuestType::signal, command.number, signal);
  else
    guest_.send(GuestType::forget, command.number, std::string_view());
  return {};
}

void CommandTable::resize(Command& command, const proto::Resize& size) {
  if (command.running()) guest_.send(GuestType::resize, command.number, size);
}

void CommandTable::stdin_data(Command& command, Reader& from, std::string_view bytes) {
  Command::Stdin& in = command.stdin;
  if (in.owner == nullptr) in.owner = &from;
  if (in.closed || in.eof_waiting || in.owner != &from) return;
  if (in.waiting.empty() && bytes.size() <= in.credit) {
    in.credit -= static_cast<std::uint32_t>(bytes.size());
    guest_.send(GuestType::stdin_data, command.number, bytes);
    from.stdin_taken(static_cast<std::uint32_t>(bytes.size()));
    return;
  }
  in.waiting.append(bytes);
  move_stdin(command);
}

void CommandTable::stdin_eof(Command& command, Reader& from) {
  Command::Stdin& in = command.stdin;
  if (in.closed || (in.owner != nullptr && in.owner != &from)) return;
  in.eof_waiting = true;
  move_stdin(command);
}

Result<void> CommandTable::feed(Command& command, const proto::Feed& more) {
  Command::Stdin& in = command.stdin;
  if (!command.running()) return fail(Errc::conflict, "command " + command.id + " has ended");
  if (!command.with_stdin) return fail(Errc::conflict, "command " + command.id + " was started without stdin");
  if (in.closed || in.eof_waiting) return fail(Errc::conflict, "the stdin of command " + command.id + " is closed");
  if (in.owner != nullptr)
    return fail(Errc::conflict, "the stdin of command " + command.id + " comes from another connection");
  if (in.waiting.size() + more.bytes.size() > proto::kStdinWindow)
    return fail(Errc::busy, "command " + command.id + " does not read its stdin: " + std::to_string(in.waiting.size()) +
                                " bytes wait already");
  in.waiting.append(more.bytes);
  // A terminal is told, and stays open for whoever reads on.
  if (more.eof && command.pty) in.waiting.append("\x04");
  in.eof_waiting = more.eof && !command.pty;
  move_stdin(command);
  return {};
}

void CommandTable::move_stdin(Command& command) {
  Command::Stdin& in = command.stdin;
  while (!in.waiting.empty() && in.credit > 0) {
    const std::string_view piece = in.waiting.view().substr(0, std::min<std::size_t>(in.credit, 64U << 10));
    const auto bytes = static_cast<std::uint32_t>(piece.size());
    guest_.send(GuestType::stdin_data, command.number, piece);
    in.waiting.consume(bytes);
    in.credit -= bytes;
    if (in.owner != nullptr) in.owner->stdin_taken(bytes);
  }
  if (in.eof_waiting && in.waiting.empty() && !in.closed) {
    in.closed = true;
    guest_.send(GuestType::stdin_eof, command.number, std::string_view());
  }
}

void CommandTable::grant(Command& command) {
  if (command.gone()) return;
  if (const std::uint32_t bytes = command.take_credit(); bytes > 0) {
    guest_.send(GuestType::output_credit, command.number, proto::Credit{bytes});
  }
}

Result<Command*> CommandTable::named_by(const proto::Message& message) {
  const auto found = by_number_.find(message.id);
  if (found == by_number_.end()) return fail(Errc::protocol, "the guest speaks of a command that is not there");
  return found->second.get();
}

Result<void> CommandTable::take(const proto::Message& message) {
  COVE_TRY(Command * command, named_by(message));
  switch (static_cast<GuestType>(message.type)) {
    case GuestType::started: {
      COVE_TRY(const auto started, proto::decode<proto::Started>(message.payload));
      command->set_started(started.pid);
      break;
    }
    case GuestType::output_out:
    case GuestType::output_err: {
      const bool err = static_cast<GuestType>(message.type) == GuestType::output_err;
      COVE_CHECK(command->append_output(err ? proto::Stream::err : proto::Stream::out, message.payload));
      grant(*command);
      break;
    }
    case GuestType::stdin_credit: {
      COVE_TRY(const auto credit, proto::decode<proto::Credit>(message.payload));
      command->stdin.credit = static_cast<std::uint32_t>(
          std::min<std::uint64_t>(std::uint64_t{command->stdin.credit} + credit.bytes, proto::kStdinWindow));
      if (credit.bytes == 0) {
        command->stdin.closed = true;
        command->stdin.waiting.clear();
        if (command->stdin.owner != nullptr) command->stdin.owner->stdin_closed();
      }
      move_stdin(*command);
      return {};
    }
    case GuestType::exited: return take_exited(*command, message.payload);
    case GuestType::gone: take_gone(*command); return {};
    default: return fail(Errc::protocol, "the guest sent a message of an unexpected type");
  }
  command->wake_readers();
  return {};
}

Result<void> CommandTable::take_exited(Command& command, std::string_view payload) {
  COVE_TRY(auto told, proto::decode<proto::Exited>(payload));
  if (std::exchange(command.overdue, false)) return {};
  if (!command.running()) return fail(Errc::protocol, "the guest says twice that a command has ended");
  const bool killed = told.signal == SIGKILL || told.exit_code == 128 + SIGKILL;
  if (killed && spec_.memory_bytes > 0 && memory_kills() > command.memory_kills_before) {
    command.end_because(Ending::oom, "it was killed at the sandbox's memory limit of " +
                                         std::to_string(spec_.memory_bytes >> 20) + " MiB");
  }
  const bool offline = traits_of(spec_.backend).isolates && (spec_.net.empty() || spec_.net == "none");
  if (offline && told.exit_code != 0 && !command.passing) command.set_hint(network_hint(command.last_output()));
  set_exited(command, std::move(told));
  return {};
}

void CommandTable::set_exited(Command& command, proto::Exited exited_as) {
  command.set_exited(std::move(exited_as));
  --running_;
  if (command.timeout_ms != 0) timeouts_.erase({command.timeout.at(), command.number});
  if (!command.passing) {
    if (const auto noted = record_.note_ended(command.outcome()); !noted) {
      log_event("journal.failed", {{"error", noted.error().message}});
    }
  }
  exited(command);
  command.wake_readers();
}

void CommandTable::declare_overdue() {
  const auto now = Clock::now();
  while (!overdue_.empty() && overdue_.begin()->first <= now) {
    const auto found = by_number_.find(overdue_.begin()->second);
    overdue_.erase(overdue_.begin());
    if (found == by_number_.end() || !found->second->running()) continue;
    found->second->overdue = true;
    proto::Exited nothing_known;
    nothing_known.exit_code = 125;
    set_exited(*found->second, nothing_known);
  }
}

void CommandTable::take_gone(Command& command) {
  if (command.running()) {
    command.end_because(Ending::lost, "the guest lost it");
    proto::Exited nothing_known;
    nothing_known.exit_code = 125;
    set_exited(command, nothing_known);
  }
  const auto found = by_number_.find(command.number);
  CommandPtr kept = std::move(found->second);
  by_number_.erase(found);
  kept->set_gone();
  kept->wake_readers();
  if (!kept->passing) finish(std::move(kept));
}

void CommandTable::finish(CommandPtr command) {
  finished_memory_ += command->log.memory_bytes();
  finished_disk_ += command->log.file_bytes();
  finished_.push_back(std::move(command));
  make_room();
}

void CommandTable::make_room() {
  for (std::size_t i = 0; i < finished_.size(); ++i) {
    if (finished_memory_ <= kMaxMemory && finished_disk_ <= kMaxDisk) break;
    OutputLog& log = finished_[i]->log;
    finished_memory_ -= std::min(finished_memory_, log.memory_bytes());
    finished_disk_ -= std::min(finished_disk_, log.file_bytes());
    log.drop();
  }
  while (finished_.size() > kMaxFinished) {
    const CommandPtr oldest = std::move(finished_.front());
    finished_.pop_front();
    finished_memory_ -= std::min(finished_memory_, oldest->log.memory_bytes());
    finished_disk_ -= std::min(finished_disk_, oldest->log.file_bytes());
    if (!is_own(oldest->id)) forgotten_.insert(hash_of(oldest->id));
    if (const auto known = by_id_.find(oldest->id); known != by_id_.end() && known->second == oldest)
      by_id_.erase(known);
  }
}

void CommandTable::lose_all(const std::string& why) {
  auto all = std::move(by_number_);
  by_number_.clear();
  timeouts_.clear();
  overdue_.clear();
  running_ = 0;
  for (auto& [number, command] : all) {
    const bool ran = command->running();
    command->set_lost(why);
    if (ran && !command->passing) [[maybe_unused]]
      const auto noted = record_.note_ended(command->outcome());
    command->wake_readers();
    if (!command->passing) finish(command);
  }
}

Deadline CommandTable::next_deadline() const {
  const auto first = [](const auto& set) { return set.empty() ? Deadline::never() : Deadline(set.begin()->first); };
  return earlier(first(timeouts_), first(overdue_));
}

void CommandTable::tick() {
  const auto now = Clock::now();
  while (!timeouts_.empty() && timeouts_.begin()->first <= now) {
    const auto found = by_number_.find(timeouts_.begin()->second);
    timeouts_.erase(timeouts_.begin());
    if (found == by_number_.end()) continue;
    Command& command = *found->second;
    end(command, Ending::timeout, "it ran longer than its limit of " + in_seconds(command.timeout_ms));
  }
  declare_overdue();
}

}  // namespace cove::keeper
