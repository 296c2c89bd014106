#include "policy/foreground.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "policy/call.h"
#include "policy/servers.h"

namespace cove::policy {
namespace {

using Advice = ForegroundAdvice::Kind;

constexpr std::string_view kWay =
    "; start it as a background command (background: true), which keeps its output and can be polled, waited for and "
    "killed";

ForegroundAdvice refuse(std::string_view rule, const SimpleCommand& command, std::string_view what) {
  return {Advice::refused, std::string(rule), shown(command) + " " + std::string(what) + std::string(kWay)};
}

ForegroundAdvice hint(std::string_view rule, const SimpleCommand& command, std::string_view what) {
  return {Advice::hint, std::string(rule), shown(command) + " " + std::string(what)};
}

// Whether something around it ends it: `timeout 5 x`.
bool is_bounded(const Script& script, const SimpleCommand& command) {
  for (int i = command.wrapper; i >= 0; i = script.commands[static_cast<std::size_t>(i)].wrapper) {
    if (script.commands[static_cast<std::size_t>(i)].name == "timeout") return true;
  }
  return false;
}

// `wait`, `kill $!`, `kill %1`, `fg`: the script looks after its jobs.
bool looks_after_jobs(const Script& script) {
  return std::any_of(script.commands.begin(), script.commands.end(), [](const SimpleCommand& command) {
    return command.name == "wait" || command.name == "fg" || command.name == "kill";
  });
}

// Names that are called from elsewhere than the function of that name.
std::unordered_set<std::string_view> called_names(const Script& script) {
  std::unordered_set<std::string_view> names;
  for (const SimpleCommand& command : script.commands) {
    const bool itself =
        command.function >= 0 && script.functions[static_cast<std::size_t>(command.function)] == command.name;
    if (!itself) names.insert(command.name);
  }
  return names;
}

std::optional<ForegroundAdvice> judge_detached(const SimpleCommand& command) {
  const Call call(command);
  if (call.asks_for_help()) return std::nullopt;
  if (command.name == "nohup" && command.words.size() > 1)
    return refuse("detach", command, "makes a process that outlives its command without anybody to look after it");
  if (command.name == "disown") return refuse("detach", command, "leaves a process to itself");
  if (command.name != "setsid" || command.words.size() < 2) return std::nullopt;
  const std::string& option = command.words[1].text;
  const bool waits = option == "-w" || option == "--wait" || option == "-cw" || option == "-wc";
  if (waits) return std::nullopt;
  return refuse("detach", command, "makes a process that leaves its command");
}

std::optional<ForegroundAdvice> judge_endless(const Script& script, const SimpleCommand& command) {
  const Call call(command);
  if (call.asks_for_help() || call.has('h') || is_bounded(script, command)) return std::nullopt;
  if (is_server(call)) return refuse("server", command, "does not end by itself");
  if (never_ends(call)) {
    return hint("endless", command,
                "does not end by itself: it runs until the timeout unless something limits it (timeout, -c, head)");
  }
  if (wants_screen(call) && command.stage == 0 && !command.substitution)
    return hint("screen", command, "wants a terminal: run it with pty, or use a program that only prints");
  return std::nullopt;
}

}  // namespace

ForegroundAdvice judge_foreground(const Script& script) {
  const bool jobs = looks_after_jobs(script);
  const auto called = called_names(script);
  ForegroundAdvice advice;
  for (const SimpleCommand& command : script.commands) {
    const bool defined = command.function >= 0;
    if (defined && !called.contains(script.functions[static_cast<std::size_t>(command.function)])) continue;
    if (auto detached = judge_detached(command)) return *detached;
    if (command.background && !jobs && !command.substitution)
      return refuse("background", command, "is put into the background by '&' and then forgotten");
    if (command.background) continue;
    const auto endless = judge_endless(script, command);
    if (endless && endless->kind == Advice::refused) return *endless;
    if (endless && advice.kind == Advice::fine) advice = *endless;
  }
  return advice;
}

}  // namespace cove::policy
