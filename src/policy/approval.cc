#include "policy/approval.h"

#include <algorithm>
#include <array>

#include "policy/call.h"

namespace cove::policy {
namespace {

constexpr std::array<std::pair<Answer, std::string_view>, 4> kNames{
    {{Answer::deny, "deny"}, {Answer::once, "once"}, {Answer::session, "session"}, {Answer::always, "always"}}};

constexpr std::string_view kRule = "rule ";
constexpr std::string_view kCommand = "command ";

// What goes to nobody or into another descriptor changes nothing.
bool writes_files(const SimpleCommand& command) {
  using Kind = Redirection::Kind;
  return std::any_of(command.redirections.begin(), command.redirections.end(), [](const Redirection& each) {
    const bool writes = each.kind == Kind::write || each.kind == Kind::append || each.kind == Kind::read_write;
    return writes && !(each.target.literal() && each.target.text == "/dev/null");
  });
}

bool is_covered(const std::vector<CommandPattern>& patterns, const SimpleCommand& command) {
  if (writes_files(command) || !command.assignments.empty()) return false;
  if (command.words.empty()) return true;
  return !command.name.empty() && std::any_of(patterns.begin(), patterns.end(),
                                              [&](const CommandPattern& pattern) { return pattern.match(command); });
}

// Who allows `sudo *` or `bash -c *` allows what those run: only the outermost commands are compared.
bool all_covered(const std::vector<CommandPattern>& patterns, const Script& script) {
  if (script.problem != ShellProblem::none || script.inner_problem || script.commands.empty()) return false;
  return std::all_of(script.commands.begin(), script.commands.end(), [&](const SimpleCommand& command) {
    return command.wrapper >= 0 || is_covered(patterns, command);
  });
}

bool is_rule_name(std::string_view text) {
  const auto good = [](char c) { return static_cast<unsigned char>(c) > 0x20 && c != 0x7F; };
  return !text.empty() && text.size() <= 256 && std::all_of(text.begin(), text.end(), good);
}

}  // namespace

std::string_view name(Answer answer) {
  return std::find_if(kNames.begin(), kNames.end(), [&](const auto& each) { return each.first == answer; })->second;
}

std::optional<Answer> answer_from(std::string_view text) {
  const auto found = std::find_if(kNames.begin(), kNames.end(), [&](const auto& each) { return each.second == text; });
  return found == kNames.end() ? std::nullopt : std::optional(found->first);
}

Result<void> Approvals::add(Allowed& allowed, std::string_view rule, std::string_view pattern) {
  if (!rule.empty()) {
    if (!is_rule_name(rule)) return fail(Errc::invalid, shown(rule) + " is not the name of a rule: no blanks");
    allowed.rules.emplace(rule);
    return {};
  }
  COVE_TRY(auto made, CommandPattern::make(pattern));
  const auto same = [&](const CommandPattern& each) { return each.text() == made.text(); };
  if (std::none_of(allowed.patterns.begin(), allowed.patterns.end(), same)) allowed.patterns.push_back(std::move(made));
  return {};
}

Result<void> Approvals::load(std::string_view lines) {
  Allowed loaded;
  always_ = {};
  for (unsigned number = 1; !lines.empty(); ++number) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    if (line.empty() || line.starts_with('#')) continue;
    Result<void> added = fail(Errc::invalid, "a line is 'rule NAME' or 'command PATTERN'");
    if (line.starts_with(kRule)) added = add(loaded, line.substr(kRule.size()), {});
    if (line.starts_with(kCommand)) added = add(loaded, {}, line.substr(kCommand.size()));
    if (!added) return fail(std::move(added).error().because("approvals, line " + std::to_string(number)));
  }
  always_ = std::move(loaded);
  return {};
}

std::string Approvals::save() const {
  std::vector<std::string> lines;
  for (const CommandPattern& pattern : always_.patterns) lines.push_back(std::string(kCommand) + pattern.text() + "\n");
  for (const std::string& rule : always_.rules) lines.push_back(std::string(kRule) + rule + "\n");
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

bool Approvals::allows(const Allowed& allowed, const Question& question, const Script& script) {
  if (!question.rule.empty()) return allowed.rules.contains(question.rule) || all_covered(allowed.patterns, script);
  return all_covered(allowed.patterns, script);
}

std::optional<Answer> Approvals::find(const Question& question, const Script& script) const {
  if (allows(always_, question, script)) return Answer::always;
  const auto session = std::find_if(sessions_.begin(), sessions_.end(),
                                    [&](const auto& each) { return each.first == question.session; });
  if (session == sessions_.end()) return std::nullopt;
  Allowed both = session->second;
  both.patterns.insert(both.patterns.end(), always_.patterns.begin(), always_.patterns.end());
  return allows(both, question, script) ? std::optional(Answer::session) : std::nullopt;
}

Result<void> Approvals::remember(const Question& question, Answer answer) {
  if (answer == Answer::always) return add(always_, question.rule, question.pattern);
  if (answer != Answer::session) return {};
  auto session = std::find_if(sessions_.begin(), sessions_.end(),
                              [&](const auto& each) { return each.first == question.session; });
  if (session == sessions_.end()) session = sessions_.insert(session, {question.session, {}});
  return add(session->second, question.rule, question.pattern);
}

Answer Approvals::decide(const Question& question, const Script& script, const Ask& ask) {
  if (const auto known = find(question, script)) return *known;
  std::optional<Answer> answer;
  try {
    if (ask) answer = ask(question);
  } catch (...) {
    answer.reset();
  }
  if (!answer) return Answer::deny;
  // What cannot be remembered was still allowed this time.
  return remember(question, *answer) ? *answer : Answer::once;
}

void Approvals::end_session(std::string_view session) {
  std::erase_if(sessions_, [&](const auto& each) { return each.first == session; });
}

}  // namespace cove::policy
