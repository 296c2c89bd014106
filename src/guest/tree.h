#pragma once

// A command's processes. They run below a small process of their own, a subreaper in the guest's memory: whatever the
// command starts, however it detaches itself, stays a descendant of that reaper, so exactly these processes can be
// found and ended, and nothing else. The reaper tells how the main process ended and goes away with the last of them.
// If the guest dies, the reaper ends them all. Where a cgroup was delegated the command also has one of its own, for a
// kill that no fork outruns.

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/error.h"
#include "base/unique_fd.h"
#include "guest/loop.h"
#include "os/cgroup.h"
#include "os/child.h"
#include "os/descendants.h"
#include "os/exec.h"
#include "os/light_process.h"

namespace cove::guest {

// What all trees of a guest share.
struct Trees {
  explicit Trees(Loop& the_loop) : loop(the_loop) {}
  Loop& loop;
  std::string cgroup;  // a delegated cgroup v2 directory, or ""
  std::uint64_t last_cgroup = 0;
  // Of a command that is over: to make one costs as much as the rest of a start.
  std::optional<os::Cgroup> spare_cgroup;
  std::set<pid_t> reapers;  // that live
  // What commands are held to; the guest itself may have more.
  rlim_t most_processes = RLIM_INFINITY, soft_files = RLIM_INFINITY;
};

class Tree {
 public:
  struct Events {
    std::function<void()> started;               // main_pid() is known
    std::function<void(Error)> failed;           // exec did not work; `gone` follows
    std::function<void(os::ExitStatus)> exited;  // the main process; once, also if the reaper itself was killed
    std::function<void()> gone;                  // nothing is left; the Tree may be destroyed in it
  };
  // What the new process does instead of an exec, alone and without children. An empty message is success.
  using Work = std::function<Error()>;

  static Result<std::unique_ptr<Tree>> start(Trees& trees, os::ExecSpec spec);
  static Result<std::unique_ptr<Tree>> start(Trees& trees, const Work& work);
  ~Tree();  // kills what is left

  // Before control returns to the loop.
  void listen(Events events) { events_ = std::move(events); }

  pid_t main_pid() const { return main_; }  // 0 until it is known
  pid_t reaper() const { return reaper_; }
  bool is_gone() const { return !report_; }
  bool main_exited() const { return exited_; }

  void signal_group(int number);
  // TERM to every process, KILL after the grace, until `gone`.
  void end(Clock::duration grace);

 private:
  // What the reaper works from until the program runs: it shares our memory.
  struct Launch {
    Launch(os::ExecSpec the_spec, int the_report);
    const os::ExecSpec spec;
    const os::PreparedExec exec;
    const int report;
    const pid_t guest;
  };
  struct Pipe;
  static Result<Pipe> make_report();
  static int be_reaper(void* launch);
  static void run_program(const Launch& launch);

  Tree(Trees& trees, pid_t reaper, UniqueFd report);
  void read_report();
  void handle_report(std::string_view report);
  void terminate(Clock::time_point kill_at);
  void kill_until_gone();
  void fail_start(const Error& error);
  void reaper_gone();

  void kill_strays();
  // The guest reaps the reaper as soon as it ends, so its number alone may already be a stranger's.
  bool reaper_has_ended(std::chrono::milliseconds within) const;
  bool wait_for_report(std::chrono::milliseconds patience) const;
  void leave_reaper();
  void kill_reaper() const;

  Trees& trees_;
  Loop& loop_;
  std::optional<os::Cgroup> cgroup_;
  std::unique_ptr<Launch> launch_;
  os::LightProcess process_;  // the reaper's, unless it does work of ours
  pid_t reaper_, main_ = 0;
  UniqueFd handle_;  // the reaper's pidfd; none on a kernel without
  UniqueFd report_;
  std::string pending_;
  Events events_;
  bool exited_ = false, alone_ = false;
  std::set<os::Told> told_;  // got their TERM
  Loop::Timer timer_ = 0;
};

}  // namespace cove::guest
