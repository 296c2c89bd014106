#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "policy/call.h"
#include "policy/guarded_paths.h"

namespace cove::policy {

struct Finding {
  std::string_view rule;
  std::string what;      // "would remove the home directory"
  std::string_view way;  // what to do instead
};

// One command and where it would run.
struct FloorCase {
  const Call& call;
  const Script& script;
  const Whereabouts& where;

  std::vector<PathPattern> paths(const Word& word) const { return paths_of(word, script, where); }
};

using FloorRule = std::optional<Finding> (*)(const FloorCase&);

// Each looks at the command's name itself.
std::optional<Finding> removes_system(const FloorCase&);
std::optional<Finding> changes_permissions(const FloorCase&);
std::optional<Finding> formats_disk(const FloorCase&);
std::optional<Finding> overwrites(const FloorCase&);
std::optional<Finding> ends_machine(const FloorCase&);
std::optional<Finding> kills_everything(const FloorCase&);

// About the script as a whole.
std::optional<Finding> is_fork_bomb(const Script& script);

}  // namespace cove::policy
