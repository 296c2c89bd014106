#pragma once

// Who is who inside a user namespace of a sandbox. As root: 0..65535 inside are an unprivileged range of the host.
// Without root: 0 inside is the caller; where /etc/subuid and /etc/subgid give the caller a range, and newuidmap is
// there, 1..N inside are that range.

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/deadline.h"
#include "base/error.h"

namespace cove::os {

inline constexpr uid_t kFirstId = 0x70000000;  // above what distributions hand out, below the kernel's signed limit
inline constexpr uid_t kIdCount = 65536;

struct IdRange {
  std::uint32_t first = 0, count = 0;  // count 0: none
};

struct Users {
  bool by_root = false;  // we may write any map
  uid_t uid = 0;         // the host ids that 0 inside stands for
  gid_t gid = 0;
  IdRange more_uids, more_gids;  // for 1 and above
};

// For this process's user.
Users find_users();
// Of the keeper, for its child that waits in a new user namespace.
Result<void> map_users(const Users& users, pid_t child, Deadline deadline);

// A line of /etc/subuid for the user, by name or number.
IdRange find_range(const std::string& text, const std::string& name, uid_t uid);

}  // namespace cove::os
