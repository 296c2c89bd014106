#pragma once

// What stands between a request and a shell: one place that asks src/policy. Before a sandbox is made, so that a
// command that is refused makes none.

#include <functional>
#include <string>

namespace cove::terminal {

struct GuardRequest {
  std::string command, task;
  bool isolated = true;     // the backend has walls: nothing outside can be harmed
  bool background = false;  // it may run for long
  bool approved = false;    // by the caller, who says so itself: skips the asking, not the floor
  // Asked when a person has to decide; empty: nobody can be asked.
  std::function<bool(const std::string& why)> approve;
};

struct GuardVerdict {
  enum class Kind : unsigned char { run, blocked, not_in_foreground } kind = Kind::run;
  std::string why;
};

GuardVerdict judge(const GuardRequest& request);

// What an exit code says of this command ("no matches found"); "" if nothing is known.
std::string exit_code_meaning(const std::string& command, int exit_code);

}  // namespace cove::terminal
