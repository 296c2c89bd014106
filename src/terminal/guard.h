#pragma once

// What stands between a request and a shell: one place that asks src/policy. Before a sandbox is made, so that a
// command that is refused makes none.
//
//   deny list        on every backend, whatever else is allowed
//   floor            where there are no walls: what would end this machine
//   foreground       what never ends by itself, or hides in the background, is told to run as a background command
//   ask list         where there are no walls: a person decides, once, for the task or always; silence is a no

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "policy/approval.h"
#include "policy/shell_syntax.h"

namespace cove::terminal {

struct GuardRequest {
  const policy::Script& script;
  std::string command, task, cwd;
  std::vector<std::string> deny, ask;  // patterns (policy/command_pattern.h)
  bool isolated = true;                // the backend has walls: nothing outside can be harmed
  bool background = false;
  bool approved = false;  // the caller has asked already
  policy::Ask person;     // empty: nobody can be asked
};

struct GuardVerdict {
  enum class Kind : unsigned char { run, blocked, not_in_foreground } kind = Kind::run;
  std::string why;   // if it is not to be run
  std::string hint;  // if it is
};

class Guard {
 public:
  // Waits for the person, if one is asked.
  GuardVerdict judge(const GuardRequest& request);
  void end_session(const std::string& task);

 private:
  GuardVerdict ask(const GuardRequest& request, const std::string& rule);
  Result<void> load();  // what was allowed for always: $COVE_HOME/approvals
  void save() const;

  std::mutex mutex_;
  bool loaded_ = false;
  policy::Approvals approvals_;
};

}  // namespace cove::terminal
