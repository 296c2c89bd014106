#include "terminal/background.h"

#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>
#include <random>

#include "record/record.h"
#include "terminal/log_reader.h"
#include "terminal/plain_text.h"

namespace cove::terminal {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kPreview = 1000, kTail = 2000;
constexpr std::uint64_t kLogPage = 50'000, kMostLog = 200'000;
constexpr std::uint64_t kPastTheEnd = std::uint64_t{1} << 62;
constexpr std::size_t kMostEntries = 512;

std::string make_id() {
  std::random_device source;
  char text[32];
  std::snprintf(text, sizeof(text), "proc_%06x%06x", source() & 0xFFFFFF, source() & 0xFFFFFF);
  return text;
}

Json failure(const Error& error, const std::string& id = "") {
  const bool lost = error.code == Errc::disconnected;
  Json json{{"status", lost                            ? "lost"
                       : error.code == Errc::not_found ? "not_found"
                                                       : "error"},
            {"error", error.message}};
  if (!id.empty()) json["session_id"] = id;
  if (lost) json["exit_code"] = -1;
  return json;
}

std::string text_field(const Json& request, const char* key) {
  const auto found = request.find(key);
  return found != request.end() && found->is_string() ? found->get<std::string>() : "";
}

Result<std::optional<std::uint64_t>> number_field(const Json& request, const char* key) {
  const auto found = request.find(key);
  if (found == request.end() || found->is_null()) return std::nullopt;
  if (found->is_number_integer() && found->get<std::int64_t>() >= 0) return found->get<std::uint64_t>();
  return fail(Errc::invalid, std::string(key) + ": must be a whole number, not below zero");
}

void describe(Json& json, const Outcome& outcome) {
  const bool running = outcome.ending == Ending::running;
  json["status"] = running ? "running" : outcome.ending == Ending::lost ? "lost" : "exited";
  json["exit_code"] = running ? Json() : Json(outcome.exit_code);
  json["uptime_seconds"] = outcome.duration_us / 1'000'000;
  json["output_bytes"] = outcome.output_bytes;
  if (outcome.pid != 0) json["pid"] = outcome.pid;
  if (!outcome.detail.empty()) json["detail"] = outcome.detail;
}

Redaction redaction_for(const std::string& command) {
  return {.values = secret_values(policy::host_env()), .assignments = lists_variables(command)};
}

}  // namespace

Background::~Background() = default;

Result<Background::Started> Background::start(const std::shared_ptr<Sandbox>& sandbox, BackgroundRequest request,
                                              const Call& call) {
  CommandSpec command = std::move(request.command);
  command.id = make_id();
  command.apart = true;  // an hour later the session is another one
  const bool feeds = !request.stdin_bytes.empty();
  const bool closes = feeds && !command.open_stdin && !command.pty;
  command.open_stdin = command.open_stdin || command.pty || feeds;
  COVE_CHECK(sandbox->start(command, call));
  Found found{command.id, {request.task, command.script, sandbox, std::int64_t{time(nullptr)}}};
  {
    const std::lock_guard guard(mutex_);
    entries_[found.id] = found.entry;
  }
  prune();
  if (feeds)
    COVE_CHECK(
        sandbox->feed(found.id, request.stdin_bytes, closes ? Sandbox::Stdin::last : Sandbox::Stdin::more, call));
  if (request.notify_on_complete || !request.watch_patterns.empty())
    begin_watch(found, std::move(request.watch_patterns));
  const auto outcome = sandbox->status(found.id, call);
  return Started{found.id, outcome ? outcome->pid : 0};
}

Json Background::act(const Json& request, const Call& call) {
  const std::string action = text_field(request, "action");
  if (action == "list") return list(request);
  auto found = find(request);
  if (!found) return failure(found.error(), text_field(request, "session_id"));
  if (action == "poll") return poll(*found, call);
  if (action == "log") return log(*found, request, call);
  if (action == "wait") return wait(*found, request, call);
  if (action == "kill") return kill(*found, call);
  if (action == "write") return write(*found, text_field(request, "data"), Sandbox::Stdin::more, call);
  if (action == "submit") return write(*found, text_field(request, "data") + "\n", Sandbox::Stdin::more, call);
  if (action == "close") return write(*found, text_field(request, "data"), Sandbox::Stdin::last, call);
  if (action == "watch") return watch(*found, request);
  return failure({Errc::invalid, "action '" + action +
                                     "' is not known: there are list, poll, log, wait, kill, write, " +
                                     "submit, close and watch"});
}

Json Background::notifications(Deadline deadline) {
  Json all = Json::array();
  for (const JsonBox& notice : notices_.take(deadline)) all.push_back(*notice);
  return all;
}

Result<Background::Found> Background::find(const Json& request) {
  const std::string id = text_field(request, "session_id");
  if (id.empty()) return fail(Errc::invalid, "session_id: which command is meant is not said");
  {
    const std::lock_guard guard(mutex_);
    if (const auto known = entries_.find(id); known != entries_.end()) return Found{id, known->second};
    const auto first = entries_.lower_bound(id);
    const bool begins = id.size() >= 4 && first != entries_.end() && first->first.starts_with(id);
    if (begins && (std::next(first) == entries_.end() || !std::next(first)->first.starts_with(id)))
      return Found{first->first, first->second};
  }
  COVE_TRY(Entry entry, search(id));
  const std::lock_guard guard(mutex_);
  entries_[id] = entry;
  return Found{id, std::move(entry)};
}

// Started by another process, or by an earlier life of this one: every sandbox that runs is asked.
Result<Background::Entry> Background::search(const std::string& id) {
  if (!id.starts_with("proc_") || id.size() != 17)
    return fail(Errc::not_found, "there is no background command '" + id.substr(0, 64) + "'");
  COVE_TRY(const auto sandboxes, record::list());
  for (const record::Info& info : sandboxes) {
    if (info.life != record::Life::running) continue;
    auto sandbox = Sandbox::open(info.name);
    if (!sandbox) continue;
    const auto outcome = sandbox->status(id, {.deadline = Deadline::after(std::chrono::seconds(5)), .stop = {}});
    if (outcome) return Entry{"", outcome->text, std::make_shared<Sandbox>(std::move(*sandbox)), 0};
  }
  return fail(Errc::not_found, "no sandbox that runs has a background command '" + id + "'");
}

Json Background::list(const Json& request) {
  const std::string task = text_field(request, "task_id");
  std::vector<std::pair<std::string, std::shared_ptr<Sandbox>>> places;
  if (task.empty()) {
    places = tasks_.all();
  } else if (auto sandbox = tasks_.find(task)) {
    places.emplace_back(task, std::move(*sandbox));
  }
  Json all = Json::array();
  for (const auto& [name, sandbox] : places) {
    const auto commands = sandbox->commands({.deadline = Deadline::after(std::chrono::seconds(5)), .stop = {}});
    if (!commands) continue;
    for (const Outcome& outcome : *commands) {
      if (!outcome.id.starts_with("proc_")) continue;
      Json one{{"session_id", outcome.id}, {"task_id", name}, {"command", outcome.text}};
      describe(one, outcome);
      all.push_back(std::move(one));
    }
  }
  return {{"processes", std::move(all)}};
}

Json Background::poll(const Found& found, const Call& call) {
  auto page = read_log(*found.entry.sandbox, found.id, {.last_bytes = kPreview * 4}, call);
  if (!page) return failure(page.error(), found.id);
  Json json{{"session_id", found.id}, {"command", found.entry.command}};
  describe(json, page->outcome);
  json["output_preview"] = last_text(page->text, kPreview, redaction_for(found.entry.command));
  return json;
}

Json Background::log(const Found& found, const Json& request, const Call& call) {
  const auto offset = number_field(request, "offset"), limit = number_field(request, "limit");
  if (!offset) return failure(offset.error(), found.id);
  if (!limit) return failure(limit.error(), found.id);
  const std::uint64_t size = std::min(limit->value_or(kLogPage), kMostLog);
  LogPage page{.from = offset->value_or(0), .last_bytes = *offset ? 0 : size, .limit = size};
  auto read = read_log(*found.entry.sandbox, found.id, page, call);
  if (!read) return failure(read.error(), found.id);
  Json json{{"session_id", found.id}};
  describe(json, read->outcome);
  json["output"] = redact(plain_text(read->text), redaction_for(found.entry.command));
  json["offset"] = read->begin;
  json["next_offset"] = read->begin + read->text.size();
  return json;
}

Json Background::wait(const Found& found, const Json& request, const Call& call) {
  Deadline deadline = call.deadline;
  const auto seconds = request.find("timeout");
  if (seconds != request.end() && seconds->is_number() && seconds->get<double>() >= 0) {
    const auto ms = static_cast<std::int64_t>(std::min(seconds->get<double>(), 1e9) * 1000);
    deadline = earlier(deadline, Deadline::after(std::chrono::milliseconds(ms)));
  }
  CommandIo io;
  io.leave_on_stop = true;
  const auto outcome = found.entry.sandbox->attach({.id = found.id, .from = kPastTheEnd, .follow = true}, io,
                                                   {.deadline = deadline, .stop = call.stop});
  const bool runs = !outcome && (outcome.error().code == Errc::timeout || outcome.error().code == Errc::cancelled);
  if (!outcome && !runs) return failure(outcome.error(), found.id);
  auto page = read_log(*found.entry.sandbox, found.id, {.last_bytes = kTail * 4}, {});
  if (!page) return failure(page.error(), found.id);
  Json json{{"session_id", found.id}, {"command", found.entry.command}};
  describe(json, page->outcome);
  if (runs && page->outcome.ending == Ending::running)
    json["status"] = outcome.error().code == Errc::timeout ? "timeout" : "interrupted";
  json["output"] = last_text(page->text, kTail, redaction_for(found.entry.command));
  return json;
}

// The outcome comes when the whole tree is dead, and not before.
Json Background::kill(const Found& found, const Call& call) {
  const auto before = found.entry.sandbox->status(found.id, call);
  if (!before) return failure(before.error(), found.id);
  const auto sent = found.entry.sandbox->signal(found.id, {.signal = 0, .grace_ms = 2000}, call);
  if (before->ending != Ending::running)
    return {{"session_id", found.id}, {"status", "already_exited"}, {"exit_code", before->exit_code}};
  if (!sent && sent.error().code != Errc::conflict) return failure(sent.error(), found.id);
  const auto outcome = found.entry.sandbox->attach({.id = found.id, .from = kPastTheEnd}, {},
                                                   {.deadline = Deadline::after(std::chrono::seconds(10)), .stop = {}});
  if (!outcome) return failure(outcome.error(), found.id);
  return {{"session_id", found.id}, {"status", "killed"}, {"exit_code", outcome->exit_code}};
}

Json Background::write(const Found& found, const std::string& data, Sandbox::Stdin which, const Call& call) {
  const auto done = found.entry.sandbox->feed(found.id, data, which, call);
  if (!done) return failure(done.error(), found.id);
  return {{"session_id", found.id}, {"status", "ok"}, {"bytes_written", data.size()}};
}

Json Background::watch(const Found& found, const Json& request) {
  std::vector<std::string> patterns;
  if (const auto given = request.find("patterns"); given != request.end() && given->is_array()) {
    for (const Json& pattern : *given) {
      if (pattern.is_string() && !pattern.get<std::string>().empty()) patterns.push_back(pattern.get<std::string>());
    }
  }
  begin_watch(found, std::move(patterns));
  return {{"session_id", found.id}, {"status", "ok"}};
}

void Background::prune() {
  const std::lock_guard guard(mutex_);
  std::erase_if(watchers_, [](const Watcher& watcher) { return watcher.done.load(); });
  while (entries_.size() > kMostEntries) {
    auto oldest = entries_.begin();
    for (auto at = entries_.begin(); at != entries_.end(); ++at) {
      if (at->second.started_unix < oldest->second.started_unix) oldest = at;
    }
    entries_.erase(oldest);  // it is found again by its id
  }
}

}  // namespace cove::terminal
