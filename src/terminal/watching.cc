// The part of Background that waits for what commands have to tell: a thread for each that somebody wants to hear of.

#include <nlohmann/json.hpp>

#include "terminal/background.h"
#include "terminal/log_reader.h"
#include "terminal/plain_text.h"

namespace cove::terminal {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kNoticeTail = 2000;

}  // namespace

void Background::begin_watch(const Found& found, std::vector<std::string> patterns) {
  const std::lock_guard guard(mutex_);
  Watcher& watcher = watchers_.emplace_back();
  watcher.thread = std::jthread([this, &watcher, found, patterns = std::move(patterns)](const std::stop_token& stop) {
    follow(found, patterns, stop);
    watcher.done = true;
  });
}

void Background::follow(const Found& found, std::vector<std::string> patterns, const std::stop_token& stop) {
  const Redaction redaction{.values = secret_values(policy::host_env()),
                            .assignments = lists_variables(found.entry.command)};
  const Json about{{"session_id", found.id}, {"task_id", found.entry.task}, {"command", found.entry.command}};
  LineWatch watch(std::move(patterns));
  WatchLimit limit;
  PlainText plain;
  CommandIo io;
  io.leave_on_stop = true;
  io.output = [&](Stream, std::string_view bytes) {
    std::string text;
    plain.add(bytes, text);
    for (const LineWatch::Match& match : watch.add(text)) {
      const std::size_t held_back = limit.held_back();
      const auto verdict = limit.hit(Clock::now());
      if (verdict != WatchLimit::Verdict::tell && verdict != WatchLimit::Verdict::last) continue;
      Json notice = about;
      notice["type"] = verdict == WatchLimit::Verdict::last ? "watch_disabled" : "watch_match";
      notice["pattern"] = match.pattern;
      notice["output"] = redact(match.line, redaction);
      notice["suppressed"] = held_back;
      if (verdict == WatchLimit::Verdict::last)
        notice["message"] = "this pattern matches too often to be told each time; there will be no more notices of it";
      notices_.add_match(std::move(notice));
    }
  };
  const auto outcome = found.entry.sandbox->attach({.id = found.id, .from = 0, .follow = true}, io,
                                                   {.deadline = Deadline::never(), .stop = stop});
  if (!outcome && outcome.error().code == Errc::cancelled) return;
  Json notice = about;
  notice["type"] = "completion";
  notice["status"] = outcome ? "exited" : "lost";
  notice["exit_code"] = outcome ? outcome->exit_code : -1;
  if (!outcome) notice["error"] = outcome.error().message;
  const auto page = read_log(*found.entry.sandbox, found.id, {.last_bytes = kNoticeTail * 4},
                             {.deadline = Deadline::after(std::chrono::seconds(5)), .stop = {}});
  notice["output"] = page ? last_text(page->text, kNoticeTail, redaction) : "";
  notices_.add(std::move(notice));
}

}  // namespace cove::terminal
