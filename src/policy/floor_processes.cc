#include <algorithm>
#include <array>

#include "policy/floor_rules.h"

namespace cove::policy {
namespace {

constexpr std::string_view kAskPerson = "ask the person at the machine to do it";

bool is_power_word(std::string_view text) {
  if (text.ends_with(".target")) text.remove_suffix(7);
  return is_any(text, {"poweroff", "reboot", "halt", "kexec", "soft-reboot", "suspend", "hibernate", "hybrid-sleep",
                       "suspend-then-hibernate", "rescue", "emergency", "exit"});
}

// `systemctl status reboot.target` only looks.
bool controls_power(const Call& call) {
  if (call.operands.empty()) return false;
  const std::string& verb = call.operands[0]->text;
  if (is_power_word(verb)) return true;
  return call.operands.size() > 1 && is_any(verb, {"start", "isolate", "restart"}) &&
         is_power_word(call.operands[1]->text) && call.operands[1]->text.ends_with(".target");
}

// The signal of `kill -9 ...`, `kill -s KILL ...`, and where its operands begin.
std::string_view signal_of(const std::vector<Word>& words, std::size_t& first) {
  first = 1;
  if (words.size() < 2) return "TERM";
  std::string_view option = words[1].text;
  if (option == "--" || !option.starts_with('-') || words.size() == 2) return "TERM";
  first = 2;
  if (option == "-s" || option == "-n" || option == "--signal") {
    first = 3;
    return words.size() > 2 ? std::string_view(words[2].text) : "TERM";
  }
  option.remove_prefix(1);
  return option;
}

bool kills_all(const std::vector<Word>& words) {
  std::size_t first = 1;
  const std::string_view signal = signal_of(words, first);
  if (is_any(signal, {"0", "l", "L", "-list", "-table", "-help", "-version", "CONT", "18", "SIGCONT"})) return false;
  for (std::size_t i = first; i < words.size(); ++i) {
    if (words[i].literal() && (words[i].text == "-1" || words[i].text == "1")) return true;
  }
  return false;
}

// All of a user's processes, or whatever has any name.
bool kills_by_any_name(const Call& call) {
  const std::vector<Word>& words = call.command.words;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& text = words[i].text;
    if (text == "." || text == ".*" || text == "") return words[i].literal() || text == ".*";
    const bool user = text == "-u" || text == "-U" || text == "--euid" || text == "--user";
    // `pkill -u root` and nothing else.
    if (user && i + 2 == words.size() && !call.has('f') && !call.has('x')) return true;
  }
  return false;
}

struct SelfCalls {
  unsigned all = 0;
  unsigned asynchronous = 0;
  bool leaves = false;  // a way out stands before them
};

}  // namespace

std::optional<Finding> ends_machine(const FloorCase& at) {
  const Call& call = at.call;
  const std::string& name = call.command.name;
  bool ends = false;
  if (name == "shutdown") {
    ends = !call.has('c') && !call.has('k') && !call.has('\0', "--show");
  } else if (is_any(name, {"reboot", "halt", "poweroff"})) {
    ends = !call.has('w', "--wtmp-only");
  } else if (name == "init" || name == "telinit") {
    ends = call.first_is("0") || call.first_is("6") || call.first_is("1");
  } else if (name == "systemctl" || name == "loginctl") {
    ends = controls_power(call);
  } else if (name == "kexec") {
    ends = call.has('e', "--exec");
  }
  if (!ends || call.asks_for_help()) return std::nullopt;
  return Finding{"power", "would stop or restart this machine", kAskPerson};
}

std::optional<Finding> kills_everything(const FloorCase& at) {
  const std::string& name = at.call.command.name;
  bool kills = false;
  if (name == "kill") {
    kills = kills_all(at.call.command.words);
  } else if (name == "killall5") {
    kills = !at.call.asks_for_help();
  } else if (name == "pkill" || name == "killall") {
    kills = kills_by_any_name(at.call);
  }
  if (!kills) return std::nullopt;
  return Finding{"kill", "would end every process, or the one that all others depend on",
                 "name the processes that are meant by their numbers"};
}

// A function that starts itself twice, not both times waiting for it, without a condition and without a way out.
std::optional<Finding> is_fork_bomb(const Script& script) {
  std::vector<SelfCalls> functions(script.functions.size());
  for (const SimpleCommand& command : script.commands) {
    if (command.function < 0) continue;
    SelfCalls& calls = functions[static_cast<std::size_t>(command.function)];
    if (command.name == "return" || command.name == "exit") calls.leaves = true;
    if (command.conditional || calls.leaves || command.name.empty()) continue;
    if (command.name != script.functions[static_cast<std::size_t>(command.function)]) continue;
    ++calls.all;
    if (command.background || command.stage > 0) ++calls.asynchronous;
  }
  const auto bomb = [](const SelfCalls& calls) { return calls.all > 1 && calls.asynchronous > 0; };
  const auto found = std::find_if(functions.begin(), functions.end(), bomb);
  if (found == functions.end()) return std::nullopt;
  const std::string& name = script.functions[static_cast<std::size_t>(found - functions.begin())];
  return Finding{"fork-bomb", "defines the function " + shown(name) + ", which does nothing but start itself",
                 "give it a condition under which it ends"};
}

}  // namespace cove::policy
