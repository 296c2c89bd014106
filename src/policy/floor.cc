#include "policy/floor.h"

#include <array>

#include "policy/floor_rules.h"

namespace cove::policy {
namespace {

constexpr std::array<FloorRule, 6> kRules{removes_system, changes_permissions, formats_disk,
                                          overwrites,     ends_machine,        kills_everything};

Verdict refusal(const std::string& subject, const Finding& finding) {
  return {.refused = true,
          .rule = std::string(finding.rule),
          .sentence = subject + " " + finding.what +
                      "; this backend does not isolate commands from the machine, so it " + "is never run here: " +
                      std::string(finding.way) + ", or use a sandbox that isolates (such as --backend native)"};
}

// Where each subshell of the script has gone with `cd`; commands come in the order of the text, which is near enough to
// the order in which they run.
class Directories {
 public:
  Directories(const Script& script, const Whereabouts& where) : script_(script), where_(where) {
    cwds_.resize(script.scopes.size());
    entered_.resize(script.scopes.size());
    cwds_[0] = where.cwd;
    entered_[0] = true;
  }

  Whereabouts at(unsigned scope) { return {where_.home, enter(scope)}; }

  void follow(const SimpleCommand& command) {
    if (command.name != "cd" && command.name != "pushd") return;
    const Call call(command);
    std::string& cwd = enter(command.scope);
    if (call.operands.empty()) {
      cwd = where_.home;
      return;
    }
    const auto paths = paths_of(*call.operands[0], script_, {where_.home, cwd});
    cwd = paths.size() == 1 ? text_of(paths[0]) : "";
    // Nobody works in a directory with a longer path, and each step would copy it.
    constexpr std::size_t kLongest = 512;
    if (cwd.size() > kLongest) cwd.clear();
  }

 private:
  static std::string text_of(const PathPattern& path) {
    std::string text;
    for (const std::string& name : path) text += "/" + name;
    return text.empty() ? "/" : text;
  }

  std::string& enter(unsigned scope) {
    if (!entered_[scope]) {
      entered_[scope] = true;
      cwds_[scope] = enter(script_.scopes[scope]);
    }
    return cwds_[scope];
  }

  const Script& script_;
  const Whereabouts& where_;
  std::vector<std::string> cwds_;
  std::vector<bool> entered_;
};

}  // namespace

Verdict judge_floor(const Script& script, const Whereabouts& where) {
  if (script.problem == ShellProblem::too_deep)
    return refusal("The command", {"too-deep", "cannot be understood: " + script.problem_text, "write it more simply"});
  Directories directories(script, where);
  for (const SimpleCommand& command : script.commands) {
    const Call call(command);
    const Whereabouts here = directories.at(command.scope);
    for (const FloorRule rule : kRules) {
      if (const auto finding = rule({call, script, here})) {
        return refusal(command.words.empty() ? "The command" : shown(command), *finding);
      }
    }
    directories.follow(command);
  }
  if (const auto bomb = is_fork_bomb(script)) return refusal("The command", *bomb);
  return {.unsure = script.problem != ShellProblem::none || script.inner_problem};
}

}  // namespace cove::policy
