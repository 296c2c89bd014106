#pragma once

// Who has allowed what, and for how long. Pure state: whom to ask is a callback's business, where "always" is kept is
// the caller's (text in, text out). What the floor or the deny list refuses is never asked for.
//
//   once     this one time
//   session  until the session ends
//   always   from now on; kept as a line of text
//   deny     no. Also what counts when nobody answers: silence is not consent
//
// A question is about a rule ("recursive-rm": whatever that rule finds) or about commands (patterns as in
// command_pattern.h). Remembered patterns allow a script only if every command in it is allowed, none of them writes
// files by redirection or sets variables for itself, and the parser has understood all of it.
//
// Not for use by several threads at once; a lock must not be held while somebody is asked, so use find() and
// remember(). Rejected: remembering scripts by their text, because the same command is never written twice in the same
// way.

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "policy/command_pattern.h"

namespace cove::policy {

enum class Answer : unsigned char { deny, once, session, always };
std::string_view name(Answer answer);
// "once", "session", "always", "deny"; anything else is no answer.
std::optional<Answer> answer_from(std::string_view text);

struct Question {
  std::string session;   // who asks
  std::string rule;      // what was found; "" if it is only about the commands
  std::string pattern;   // what "session" and "always" would allow if there is no rule; "" allows only once
  std::string command;   // for the person who is asked
  std::string sentence;  // why it is asked
};

// Nothing is the answer when time is over or nobody is there.
using Ask = std::function<std::optional<Answer>(const Question&)>;

class Approvals {
 public:
  // The answers that were kept: lines as save() writes them. invalid: a line that is none; nothing is allowed then.
  Result<void> load(std::string_view lines);
  // What was answered with "always": "rule NAME" and "command PATTERN", sorted, one per line.
  std::string save() const;

  // What was already allowed: session or always. Nothing: somebody must be asked.
  std::optional<Answer> find(const Question& question, const Script& script) const;
  // invalid: the pattern is none. `once` and `deny` leave nothing behind.
  Result<void> remember(const Question& question, Answer answer);
  // find(), or ask and remember(). A callback that throws has not answered.
  Answer decide(const Question& question, const Script& script, const Ask& ask);
  void end_session(std::string_view session);

 private:
  struct Allowed {
    std::set<std::string> rules;
    std::vector<CommandPattern> patterns;
  };
  static bool allows(const Allowed& allowed, const Question& question, const Script& script);
  static Result<void> add(Allowed& allowed, std::string_view rule, std::string_view pattern);

  Allowed always_;
  std::vector<std::pair<std::string, Allowed>> sessions_;
};

}  // namespace cove::policy
