// Commands that run other commands: those are put into the list behind them.

#include <utility>

#include "policy/shell_parser_detail.h"
#include "policy/shell_wrappers.h"

namespace cove::policy {
namespace {

// `sudo env nice ...`: each step copies the words behind it, so there is an end to it.
constexpr unsigned kLongestChain = 16;

std::size_t size_of(const std::vector<Word>& words) {
  std::size_t bytes = 0;
  for (const Word& word : words) bytes += word.text.size() + 1;
  return bytes;
}

std::string with_newlines(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool newline = text.substr(i, 2) == "\\n";
    result += newline ? '\n' : text[i];
    if (newline) ++i;
  }
  return result;
}

// What `echo`, `printf` and `cat <<E` write, roughly.
std::string written_by(const SimpleCommand& command) {
  std::string text;
  if (command.name == "echo" || command.name == "printf") {
    const char* between = command.name == "echo" ? " " : "\n";
    for (std::size_t i = 1; i < command.words.size(); ++i) {
      const std::string& word = command.words[i].text;
      if (i > 1 || (word != "-e" && word != "-n" && word != "-ne" && word != "-en")) text += word + between;
    }
    return with_newlines(text);
  }
  if (command.name != "cat") return text;
  for (const Redirection& each : command.redirections) {
    if (each.kind == Redirection::Kind::here_document || each.kind == Redirection::Kind::here_string)
      text = each.target.text;
  }
  return text;
}

}  // namespace

bool ShellParser::spend(std::size_t bytes) {
  if (bytes > *place_.budget) fail(ShellProblem::too_deep, "too many commands run each other");
  if (failed_) return false;
  *place_.budget -= bytes;
  return true;
}

ShellParser::Deciders ShellParser::run_inner(std::string_view text, int wrapper) {
  const Deeper deeper(*this);
  if (failed_ || !spend(text.size())) return {};
  Place place = place_;
  place.wrapper = wrapper;
  place.inner = place.nowhere = true;
  return ShellParser(text, script_, place).run();
}

ShellParser::Deciders ShellParser::derive(int index, unsigned chain) {
  if (chain > kLongestChain) {
    fail(ShellProblem::too_deep, "too many commands run each other");
    return {};
  }
  InnerCommands inner = inner_commands(script_.commands[static_cast<std::size_t>(index)], script_);
  Deciders deciders;
  const auto join = [&](const Deciders& more) { deciders.insert(deciders.end(), more.begin(), more.end()); };
  for (const std::string& text : inner.scripts) join(run_inner(text, index));
  for (std::vector<Word>& words : inner.commands) {
    if (!spend(size_of(words))) return {};
    SimpleCommand command = new_command();
    command.wrapper = index;
    command.words = std::move(words);
    join(derive(add(std::move(command), documents_.size()), chain + 1));
  }
  if (deciders.empty()) deciders.push_back(index);
  return deciders;
}

// The command whose output the given one reads; it stands shortly before it.
int ShellParser::stage_before(int command) const {
  constexpr int kFar = 64;
  const SimpleCommand& reader = script_.commands[static_cast<std::size_t>(command)];
  if (reader.stage == 0) return -1;
  for (int i = command - 1; i >= 0 && i > command - kFar; --i) {
    const SimpleCommand& writer = script_.commands[static_cast<std::size_t>(i)];
    if (writer.pipeline == reader.pipeline && writer.stage + 1 == reader.stage && writer.wrapper == reader.wrapper)
      return i;
  }
  return -1;
}

// What a shell without a script of its own would run; each text is given once, however many shells could read it.
std::string ShellParser::stdin_script(int shell, std::vector<bool>& used) const {
  int outermost = shell;
  const auto at = [&](int index) -> const SimpleCommand& { return script_.commands[static_cast<std::size_t>(index)]; };
  while (at(outermost).redirections.empty() && at(outermost).wrapper >= 0 &&
         at(at(outermost).wrapper).pipeline == at(outermost).pipeline) {
    outermost = at(outermost).wrapper;
  }
  if (used[static_cast<std::size_t>(outermost)]) return {};
  used[static_cast<std::size_t>(outermost)] = true;
  for (const Redirection& each : at(outermost).redirections) {
    if (each.kind == Redirection::Kind::here_document || each.kind == Redirection::Kind::here_string)
      return each.target.text;
  }
  const int before = stage_before(outermost);
  return before < 0 ? std::string() : written_by(at(before));
}

void ShellParser::run_stdin_scripts() {
  recover();
  std::vector<bool> used;
  for (std::size_t i = 0; i < script_.commands.size(); ++i) {
    if (!reads_script_from_stdin(script_.commands[i])) continue;
    used.resize(script_.commands.size());
    const std::string text = stdin_script(static_cast<int>(i), used);
    if (text.empty()) continue;
    const SimpleCommand& shell = script_.commands[i];
    place_ = {.function = shell.function,
              .scope = shell.scope,
              .depth = shell.depth,
              .conditional = shell.conditional,
              .budget = place_.budget};
    run_inner(text, static_cast<int>(i));
  }
}

}  // namespace cove::policy
