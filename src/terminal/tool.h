#pragma once

// The terminal tool: one call runs a shell command in its task's sandbox and gives one JSON object.
//
// Always: `output`, `exit_code`, and `error`, which is null where the tool itself did its work. Where they apply:
//  - `status`: error, blocked, degraded, disabled: the command was not run (exit_code -1), or is lost;
//  - `cwd`: where the session stands now, if that has changed;
//  - `session_id`, `pid`: of a background command;
//  - `output_total_chars`, `full_output_path`, `truncation_note`: of output that was too long;
//  - `exit_code_meaning`, `hint`, `environment_recreated`, `promoted_from_foreground`, `warnings`.
//
// Calls may be made from any number of threads; those of one task share its session.

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "terminal/background.h"
#include "terminal/guard.h"
#include "terminal/request.h"
#include "terminal/tasks.h"

namespace cove::terminal {

// What a caller brings along for one call.
struct Hooks {
  std::stop_token stop;  // interrupts the command: exit code 130
  std::function<void()> activity;
  std::chrono::milliseconds activity_every{10'000};
  policy::Ask approve;  // asked when a person has to decide (guard.h)
};

class Terminal {
 public:
  Terminal() : background_(tasks_) {}

  std::string run(std::string_view request, const Hooks& hooks = {});
  // See Background::act.
  std::string process(std::string_view request, const Hooks& hooks = {});
  // {"task_id": T, "remove": false}: {"status": "ok", "cleaned": true}
  std::string cleanup(std::string_view request);
  void cleanup_all() { tasks_.cleanup_all(); }
  // {"task_id": T, "overrides": {...} or null}, for every call of that task from now on.
  std::string set_overrides(std::string_view request);
  std::string notifications(Deadline deadline);
  void disown() noexcept;  // in the child of a fork()

 private:
  struct Running;
  nlohmann::ordered_json run(const Request& request, Hooks hooks);
  nlohmann::ordered_json run_foreground(const Request& request, Running& running, const Hooks& hooks);
  nlohmann::ordered_json run_background(const Request& request, Running& running, const Hooks& hooks);

  std::optional<nlohmann::ordered_json> refused(const Request& request, Running& running, Hooks& hooks);
  Guard guard_;
  Tasks tasks_;
  Background background_;  // goes first: it holds what tasks_ ends
};

}  // namespace cove::terminal
