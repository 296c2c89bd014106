#include "policy/sudo.h"

#include <algorithm>
#include <set>

#include "policy/call.h"

namespace cove::policy {
namespace {

bool has_own_way(const SimpleCommand& command) {
  for (std::size_t i = 1; i < command.words.size(); ++i) {
    const std::string& text = command.words[i].text;
    if (text == "--" || !text.starts_with('-')) return false;
    if (text == "--stdin" || text == "--non-interactive" || text == "--askpass") return true;
    if (!text.starts_with("--") && text.find_first_of("SnA") != std::string::npos) return true;
  }
  return false;
}

bool is_behind_xargs(const Script& script, const SimpleCommand& command) {
  for (int i = command.wrapper; i >= 0; i = script.commands[static_cast<std::size_t>(i)].wrapper) {
    if (script.commands[static_cast<std::size_t>(i)].name == "xargs") return true;
  }
  return false;
}

}  // namespace

SudoRewrite sudo_reads_stdin(std::string_view text, const Script& script) {
  std::set<std::size_t> ends;
  for (const SimpleCommand& command : script.commands) {
    if (command.name != "sudo" || has_own_way(command) || is_behind_xargs(script, command)) continue;
    const std::size_t end = command.words[0].end;
    if (end != Word::kNowhere && end <= text.size()) ends.insert(end);
  }
  SudoRewrite result{.count = static_cast<unsigned>(ends.size())};
  std::size_t from = 0;
  for (const std::size_t end : ends) {
    result.text.append(text.substr(from, end - from)).append(" -S -p ''");
    from = end;
  }
  result.text.append(text.substr(from));
  return result;
}

}  // namespace cove::policy
