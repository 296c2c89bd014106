#pragma once

// One sub-command: what the help says about it and what it does. They stand in one table (table.cc), from which the
// help, the dispatch and the shell completions are made.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cove::cli {

class Arguments;

enum class Visible : unsigned char { yes, no };

struct Command {
  std::string_view name;
  std::string_view usage;  // after `cove NAME`
  std::string_view summary;
  std::string_view examples;                                         // lines
  int (*run)(Arguments& arguments, std::vector<std::string> words);  // words after the name; the exit code
  void (*describe)(Arguments& arguments);                            // defines the options, for completions only
  Visible visible = Visible::yes;
};

std::span<const Command> commands();
const Command* find_command(std::string_view name);

inline constexpr int kUsageError = 2, kOwnError = 125;

extern const Command kAttach, kCompletion, kCp, kCreate, kDoctor, kExec, kGc, kImage, kInspect, kKeeper, kKill, kLogs,
    kLs, kPs, kRm, kRun, kSelftest, kSh, kShell, kStart, kStop, kVersion;

}  // namespace cove::cli
