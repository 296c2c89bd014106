#pragma once

// One sub-command: what the help says about it and what it does. They stand in one table (table.cc), from which the
// help, the dispatch, the shell completions and the manual pages are made.

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
  void (*describe)(Arguments& arguments);  // defines the options, for completions and manual pages
  Visible visible = Visible::yes;
  std::string_view program = "cove";
};

std::span<const Command> commands();
const Command* find_command(std::string_view name);

inline constexpr int kUsageError = 2, kOwnError = 125, kInterrupted = 130;

extern const Command kApply, kAttach, kBisect, kCheckpoint, kCompletion, kCp, kCreate, kDiff, kDoctor, kExec, kFork,
    kGc, kHistory, kImage, kInspect, kKeeper, kKill, kLogs, kLs, kMan, kMsb, kPause, kPs, kRestore, kResume, kRm, kRun,
    kSelftest, kSh, kShell, kSnapshot, kSnapshots, kStart, kStop, kSync, kUndo, kVersion;

}  // namespace cove::cli
