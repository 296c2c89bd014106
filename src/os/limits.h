#pragma once

// Limits of a whole sandbox, held by the kernel's control groups. Each sandbox has groups named cove-NAME, one in each
// hierarchy that a wanted limit needs: below our own group on v1; on v2 below the nearest of our own group and its
// ancestors that may hand the controllers down. (A v2 group that holds processes may not, so it is never our own one
// but at the root of the machine. No process is moved to make room: a sandbox maker has no business moving strangers.
// What a limit on our own group alone would allow is therefore no bound for a sandbox on v2.)
// Guarantees: a limit is enforced or refused; nothing is left behind by a failed make(); no lock is taken.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/error.h"

namespace cove::os {

struct Limits {  // 0: none
  std::uint64_t memory_bytes = 0;
  double cpus = 0;
  std::uint32_t pids = 0;
};

// What would enforce each here: "cgroup v2", "cgroup v1" or "", with the first reason as a sentence in `why_not`.
struct LimitSupport {
  std::string memory, cpus, pids;
  std::string why_not;
};
// Found by trying, once per process.
const LimitSupport& probe_limits();

class [[nodiscard]] LimitGroup {
 public:
  // unsupported: nothing here can enforce one of them; the message names it and what to do. conflict: there is such a
  // group already. invalid: a name or number that cannot be. Without any limit there are no groups, and all below
  // works.
  static Result<LimitGroup> make(const std::string& name, const Limits& limits);
  LimitGroup() = default;
  LimitGroup(LimitGroup&& other) noexcept;
  LimitGroup& operator=(LimitGroup&& other) noexcept;
  ~LimitGroup();  // removes quietly, within two seconds

  // Puts a process in; the children that it makes from now on follow.
  Result<void> add(pid_t pid) const;
  // How many processes the memory limit has killed so far. 0 without one.
  std::uint64_t oom_kills() const;
  // Kills what is left inside, then removes the groups. Idempotent. timeout: something does not die; asking again is
  // fine.
  Result<void> remove(Deadline deadline);

 private:
  std::vector<std::string> directories_;
  std::string memory_;  // the directory that counts memory kills
};

// A name for the groups of a sandbox that no other COVE_HOME uses: "NAME.HASH".
std::string group_name(const std::string& home, const std::string& sandbox);

// The names of all groups of this user, also those left by crashed keepers and those made from another group of
// ours (another login, another service). Groups of living sandboxes are among them: ask their locks before removing.
std::vector<std::string> find_limit_groups();
// Kills what is inside and removes them, wherever they are. No such groups: done.
Result<void> remove_limit_group(const std::string& name, Deadline deadline);

}  // namespace cove::os
