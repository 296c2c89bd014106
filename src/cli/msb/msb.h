#pragma once

// msb's own command line on our sandboxes, so that a program written for msb runs unchanged, also where there is no
// KVM.
//
//   sandboxes    Cove's own, kept (--persistent) as msb keeps its: stop and start lose nothing, exec starts what was
//                stopped, for as long as its command runs. A name that is none of ours gets one (record::name_for).
//   backend      COVE_MSB_BACKEND, else microvm where KVM works, else native
//   network      public by default, as msb's (`full`); --no-net and the older --no-network take it away
//   exit codes   the command's own; 1 for an error of ours ("error: ..." on stderr); 2 for wrong usage
//
// An option of msb's that is not understood is an error of usage, never ignored; those that choose how much msb tells
// about itself (--debug and the like) are taken and have no effect.

#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/live.h"
#include "client/cove.h"
#include "record/record.h"

namespace cove::cli::msb {

inline constexpr int kFailed = 1;

// Whose command line this is.
inline constexpr std::string_view kVersion = "0.7.2";

int run(std::vector<std::string> words);

// What most verbs take.
struct Common {
  bool quiet = false, error = false, warn = false, info = false, debug = false, trace = false;
};
void define(Arguments& arguments, Common& common);

// Says it as msb does ("error: sandbox not found: x"); kFailed.
int failed(const Error& error);

// A sandbox by msb's name for it.
Result<record::Info> look(const std::string& name);
// The same, started if it was stopped.
struct Opened {
  Sandbox sandbox;
  bool started = false;
};
Result<Opened> open_or_start(const std::string& name);

// A program with our stdin, whose output is ours; the exit code.
int run_piped(Sandbox& sandbox, CommandSpec command);

// How a command went, as msb tells it.
int finish_as_msb(const Outcome& outcome, std::chrono::milliseconds timeout, const LiveOutput& output);

extern const Command kCreate, kRun, kExec, kStart, kStop, kRemove, kList, kStatus, kInspect, kLogs, kImage, kPull,
    kLoad, kDoctor;

}  // namespace cove::cli::msb
