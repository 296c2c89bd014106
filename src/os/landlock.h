#pragma once

// Landlock: a process takes file system, network and signal rights away from itself and its children, without
// privileges. A ruleset is made by the parent; the child only enters it (ExecSpec::walls).

#include <string>
#include <vector>

#include "base/error.h"
#include "base/unique_fd.h"

namespace cove::os {

// What the kernel can do: 0 nothing, 1 files, 3 with truncate, 4 with TCP, 5 with ioctls of devices, 6 with signals and
// abstract unix sockets.
int landlock_abi();

enum class Reach : unsigned char {
  list,    // names in directories
  read,    // contents, names, and running programs
  device,  // an existing file: read, write, ioctl
  write,   // everything but making device files
};

// Everything below `path`. One that is not there is passed over.
struct LandlockRule {
  std::string path;
  Reach reach = Reach::read;
};

struct LandlockSpec {
  std::vector<LandlockRule> rules;
  bool tcp = false;  // may bind and connect
};

// Whatever no rule allows is refused, as far as the kernel's version can; signals and abstract unix sockets then end at
// the processes that share the ruleset. unsupported: this kernel has no Landlock.
Result<UniqueFd> make_ruleset(const LandlockSpec& spec);

// Rules for what everybody may read below `path`: whole directories where nothing in them is kept from others.
void add_public(std::vector<LandlockRule>& rules, const std::string& path);

// In a child, after no_new_privs is set. No allocation. False: errno says why.
bool enter_ruleset(int ruleset);

}  // namespace cove::os
