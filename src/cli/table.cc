#include "cli/command.h"
#include "cli/mcp.h"

namespace cove::cli {

std::span<const Command> commands() {
  static const Command all[] = {kRun,        kCreate,  kSh,         kExec,  kShell,   kLs,    kInspect, kPs,
                                kLogs,       kKill,    kAttach,     kCp,    kImage,   kDiff,  kApply,   kSnapshot,
                                kSnapshots,  kRestore, kFork,       kUndo,  kHistory, kPause, kResume,  kSync,
                                kCheckpoint, kBisect,  kStop,       kStart, kRm,      kMcp,   kDoctor,  kGc,
                                kSelftest,   kMsb,     kCompletion, kMan,   kVersion, kKeeper};
  return all;
}

const Command* find_command(std::string_view name) {
  for (const Command& command : commands()) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

}  // namespace cove::cli
