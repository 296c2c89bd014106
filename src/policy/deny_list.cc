#include "policy/deny_list.h"

#include <algorithm>

#include "policy/call.h"

namespace cove::policy {

Result<DenyList> DenyList::make(const std::vector<std::string>& patterns) {
  DenyList list;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    auto pattern = CommandPattern::make(patterns[i]);
    if (!pattern) {
      return fail(std::move(pattern).error().because("deny pattern " + std::to_string(i + 1) + " (" +
                                                     shown(patterns[i]) + ")"));
    }
    list.patterns_.push_back(std::move(*pattern));
  }
  return list;
}

Verdict DenyList::judge(const Script& script) const {
  if (patterns_.empty()) return {};
  Verdict verdict{.unsure = script.problem != ShellProblem::none || script.inner_problem};
  for (const SimpleCommand& command : script.commands) {
    const auto found = std::find_if(patterns_.begin(), patterns_.end(), [&](const CommandPattern& pattern) {
      return pattern.is_name() ? pattern.match_name(command) : pattern.match(command);
    });
    if (found != patterns_.end()) {
      return {.refused = true,
              .rule = "deny: " + found->text(),
              .sentence = shown(command) + " is forbidden by the deny pattern " + shown(found->text()) +
                          " of the configuration; do it another way, or have the pattern changed"};
    }
    if (command.name.empty() && !command.words.empty()) verdict.unsure = true;
  }
  return verdict;
}

}  // namespace cove::policy
