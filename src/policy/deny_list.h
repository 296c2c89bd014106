#pragma once

// Commands that the configuration forbids, on every backend.

#include <string>
#include <vector>

#include "base/error.h"
#include "policy/command_pattern.h"
#include "policy/floor.h"

namespace cove::policy {

class DenyList {
 public:
  // Patterns as in command_pattern.h; one that is a single word forbids that command with any arguments.
  // invalid: a pattern that is none, by its number and text.
  static Result<DenyList> make(const std::vector<std::string>& patterns);

  bool empty() const { return patterns_.empty(); }
  // Every simple command of the script is compared, also those that sudo, xargs, `sh -c` and the like run; text is not.
  // The verdict's rule is "deny: PATTERN". Unsure: the script is broken, or the name of a command is only known when
  // it runs.
  Verdict judge(const Script& script) const;

 private:
  std::vector<CommandPattern> patterns_;
};

}  // namespace cove::policy
