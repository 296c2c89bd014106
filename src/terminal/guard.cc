#include "terminal/guard.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/unique_fd.h"
#include "policy/deny_list.h"
#include "policy/floor.h"
#include "policy/foreground.h"
#include "record/record.h"

namespace cove::terminal {
namespace {

GuardVerdict blocked(std::string why) { return {GuardVerdict::Kind::blocked, std::move(why), ""}; }

std::string home_directory() {
  const char* home = std::getenv("HOME");
  return home != nullptr ? home : "";
}

// Names have no blanks, patterns do.
std::string rule_name(const std::string& rule) {
  std::string name;
  for (const char c : rule) {
    if (c == ' ')
      name += "%20";
    else if (c == '%')
      name += "%25";
    else
      name += c;
  }
  return name;
}

}  // namespace

GuardVerdict Guard::judge(const GuardRequest& request) {
  if (request.command.find_first_not_of(" \t\r\n") == std::string::npos)
    return blocked("the command is empty: nothing would run");
  const auto denied = policy::DenyList::make(request.deny);
  if (!denied) return blocked("the deny list cannot be read, so nothing is run: " + denied.error().message);
  if (const auto verdict = denied->judge(request.script); verdict.refused) return blocked(verdict.sentence);
  if (!request.isolated) {
    const auto verdict = policy::judge_floor(request.script, {.home = home_directory(), .cwd = request.cwd});
    if (verdict.refused) return blocked(verdict.sentence);
  }
  GuardVerdict answer;
  if (!request.background) {
    const auto advice = policy::judge_foreground(request.script);
    if (advice.kind == policy::ForegroundAdvice::Kind::refused)
      return {GuardVerdict::Kind::not_in_foreground, advice.sentence, ""};
    answer.hint = advice.sentence;
  }
  if (request.isolated || request.approved || request.ask.empty()) return answer;
  const auto asked = policy::DenyList::make(request.ask);
  if (!asked) return blocked("the ask list cannot be read, so nothing is run: " + asked.error().message);
  const auto verdict = asked->judge(request.script);
  if (!verdict.refused && !verdict.unsure) return answer;
  constexpr std::string_view kPrefix = "deny: ";  // how that list names its rules
  GuardVerdict decided = ask(request, verdict.rule.substr(std::min(kPrefix.size(), verdict.rule.size())));
  return decided.kind == GuardVerdict::Kind::run ? answer : decided;
}

// No lock while somebody thinks. Without a rule it was not understood, and each one like that is a question of its own.
GuardVerdict Guard::ask(const GuardRequest& request, const std::string& rule) {
  const std::string sentence = rule.empty() ? "not all that it runs can be told from its text"
                                            : "it is on the list of commands to ask about: " + rule;
  const policy::Question question{.session = request.task,
                                  .rule = rule_name(rule),
                                  .pattern = "",
                                  .command = request.command,
                                  .sentence = sentence};
  {
    const std::lock_guard guard(mutex_);
    if (auto loaded = load(); !loaded) return blocked(loaded.error().message);
    if (!rule.empty() && approvals_.find(question, request.script)) return {};
  }
  std::optional<policy::Answer> answer;
  try {
    if (request.person) answer = request.person(question);
  } catch (...) {
    answer.reset();  // who throws has not answered
  }
  if (!answer || *answer == policy::Answer::deny)
    return blocked((request.person ? "not approved: " : "it needs an approval, and nobody can be asked: ") + sentence);
  const std::lock_guard guard(mutex_);
  if (approvals_.remember(question, *answer) && *answer == policy::Answer::always) save();
  return {};
}

void Guard::end_session(const std::string& task) {
  const std::lock_guard guard(mutex_);
  approvals_.end_session(task);
}

Result<void> Guard::load() {
  if (loaded_) return {};
  COVE_TRY(const std::string home, record::home());
  std::ifstream file(home + "/approvals");
  std::ostringstream lines;
  if (file) lines << file.rdbuf();
  if (auto loaded = approvals_.load(lines.str()); !loaded)
    return fail(std::move(loaded).error().because(home + "/approvals"));
  loaded_ = true;
  return {};
}

// Written aside and renamed. What cannot be kept is asked again another time.
void Guard::save() const {
  const auto home = record::home();
  if (!home) return;
  const std::string path = *home + "/approvals", aside = path + "." + std::to_string(getpid());
  const std::string lines = approvals_.save();
  UniqueFd file(open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return;
  const bool whole = write(file.get(), lines.data(), lines.size()) == static_cast<ssize_t>(lines.size());
  if (!whole || rename(aside.c_str(), path.c_str()) != 0) unlink(aside.c_str());
}

}  // namespace cove::terminal
