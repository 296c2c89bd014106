#pragma once

// From fork to exec: an ordered list of steps that a new child walks without allocating. On failure it names the step.

#include <sys/resource.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "base/unique_fd.h"
#include "os/walls.h"

namespace cove::os {

// A descriptor that the child gets, under this number. Of the others only 0, 1 and 2 are inherited.
struct FdGift {
  int from = -1;
  int as = -1;
};

struct ExecSpec {
  std::string program;  // a path; "" looks argv[0] up in the PATH of `env`
  std::vector<std::string> argv;
  std::vector<std::string> env;  // the whole environment; nothing is inherited
  std::string cwd;               // "" stays; a directory that is gone is an error
  bool nearest_cwd = false;      // ... unless this is set: then the nearest parent that exists is taken
  std::vector<FdGift> fds;
  bool new_session = false;           // setsid
  bool controlling_terminal = false;  // descriptor 0 becomes it (after setsid)
  bool signals_are_clean = false;     // the caller ignores none (handlers do not survive exec), so none must be reset
  int cgroup_procs = -1;              // the cgroup.procs to enter, lent
  int umask = -1;                     // -1 keeps
  rlim_t most_processes = RLIM_INFINITY;  // RLIMIT_NPROC, soft and hard; RLIM_INFINITY keeps
  rlim_t soft_files = RLIM_INFINITY;      // RLIMIT_NOFILE, soft; RLIM_INFINITY keeps
  int parent_death_signal = 0;            // sent to it when the *thread* that started it ends, however that happens
  bool switch_user = false;
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;
  const Walls* walls = nullptr;  // lent; not with switch_user, which needs what they take
};

// Everything allocated in advance. Lives until exec has happened or failed.
class PreparedExec {
 public:
  explicit PreparedExec(const ExecSpec& spec);
  // Called in the child only. Signals are reset to their defaults, descriptors arranged, then exec.
  // Returns only on failure, after writing {step, errno} to error_fd (which is close-on-exec).
  void run(int error_fd) const;
  // What the parent reads from the other end: nothing if exec worked.
  static Result<void> read_failure(int error_fd, const ExecSpec& spec);
  // The same in two, for a parent that may not allocate either. False: exec worked.
  struct Failed {
    int step = -1, error = 0;
  };
  static bool read_failed(int error_fd, Failed& failed);
  static Error explain(const Failed& failed, const ExecSpec& spec);

 private:
  enum class Step : unsigned char {
    cgroup,
    rights,
    descriptors,
    session,
    terminal,
    directory,
    user,
    parent,
    calls,
    exec
  };
  bool arrange_descriptors() const;

  std::vector<std::string> candidates_;  // paths to try, in order
  std::vector<char*> argv_, env_;
  std::vector<std::string> parents_;  // cwd and, for nearest_cwd, its ancestors
  mutable std::vector<FdGift> fds_;
  const pid_t parent_;
  const ExecSpec& spec_;
};

// The value of a variable in a list of K=V; "" if it is not there.
std::string find_env(const std::vector<std::string>& env, std::string_view key);

// In a child: closes every descriptor above 2 except `keep` (sorted).
void close_other_fds(const std::vector<FdGift>& keep, int also_keep);

// In a child: default dispositions, empty mask.
void reset_signals();
void unblock_signals();

// Takes the signal without effect. Unlike SIG_IGN this ends with exec, so that children need no reset.
void disregard_signal(int signal);

}  // namespace cove::os
