#pragma once

// Where the control groups of this machine are. Three layouts exist: everything in one v2 hierarchy, each controller in
// a v1 hierarchy of its own (often beside a v2 one without controllers: hybrid), and nothing mounted at all.

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace cove::os {

// One mounted hierarchy, seen from this process.
struct Hierarchy {
  int version = 0;    // 1 or 2; 0: there is none
  std::string mount;  // the highest directory that can be seen
  std::string own;    // the group of this process, `mount` or below it
};

struct CgroupLayout {
  Hierarchy memory, cpu, pids;  // v1 where one has the controller, else the v2 hierarchy, which need not offer it
  std::vector<Hierarchy> all() const;  // each hierarchy once
};

// From the texts of /proc/self/mountinfo and /proc/self/cgroup.
CgroupLayout parse_cgroup_layout(std::string_view mountinfo, std::string_view self_cgroup);
// Of this process; read once.
const CgroupLayout& cgroup_layout();

// "" if it cannot be read.
std::string read_text(const std::string& path);
// One write, as control files want it.
Result<void> write_text(const std::string& path, std::string_view text);
// Does a space-separated list hold this word?
bool has_word(std::string_view list, std::string_view word);

}  // namespace cove::os
