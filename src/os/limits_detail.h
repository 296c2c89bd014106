#pragma once

// What limits.cc is made of; for nobody else.

#include <cmath>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/error.h"
#include "os/cgroup_layout.h"
#include "os/limits.h"

namespace cove::os {

inline constexpr std::string_view kGroupPrefix = "cove-";
inline constexpr std::uint64_t kCpuPeriodUs = 100'000;

inline std::uint64_t cpu_quota_us(double cpus) {
  return static_cast<std::uint64_t>(std::llround(cpus * static_cast<double>(kCpuPeriodUs)));
}

// The directory below which groups with these limits can be made; the controllers are enabled in it.
Result<std::string> find_parent_v2(const Hierarchy& hierarchy, const Limits& limits);

// Writes those that are not 0 into the group.
Result<void> set_limits_v1(const std::string& directory, const Limits& limits);
Result<void> set_limits_v2(const std::string& directory, const Limits& limits);

// Kills what is in these groups and below, and removes them. Groups that are gone already are fine.
Result<void> remove_groups(const std::vector<std::string>& directories, Deadline deadline);

}  // namespace cove::os
