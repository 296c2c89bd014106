#include <unistd.h>

#include "os/limits_detail.h"

namespace cove::os {
namespace {

std::vector<std::string> controllers_for(const Limits& limits) {
  std::vector<std::string> names;
  if (limits.memory_bytes > 0) names.emplace_back("memory");
  if (limits.cpus > 0) names.emplace_back("cpu");
  if (limits.pids > 0) names.emplace_back("pids");
  return names;
}

// Only the root of the machine (it has no type) may hold processes and hand controllers down. Elsewhere the kernel
// refuses that (EBUSY) for memory; for cpu and pids it agrees and makes the group's children threaded, useless for
// processes.
Result<void> check_kind(const std::string& group) {
  const std::string type = read_text(group + "/cgroup.type");
  if (type.empty()) return {};
  if (type != "domain\n") return fail(Errc::conflict, "the control group " + group + " is threaded");
  if (read_text(group + "/cgroup.procs").empty()) return {};
  return fail(Errc::denied, "the control group " + group + " holds processes, so it cannot hand limits down");
}

// A group hands down what its subtree_control lists. Adding to it fails (ENOENT) when the group was not given the
// controller itself.
Result<void> enable(const std::string& group, const std::vector<std::string>& controllers) {
  const std::string enabled = read_text(group + "/cgroup.subtree_control");
  std::string missing;
  for (const std::string& one : controllers) {
    if (!has_word(enabled, one)) missing += (missing.empty() ? "+" : " +") + one;
  }
  if (missing.empty()) return {};
  return write_text(group + "/cgroup.subtree_control", missing);
}

// To move a process the kernel also asks for the right to write to the nearest group above both its old and its new
// place: that is this one.
Result<void> check_usable(const std::string& group, const std::vector<std::string>& controllers) {
  for (const std::string& path : {group, group + "/cgroup.procs"}) {
    if (access(path.c_str(), W_OK) < 0) return fail_errno("write to " + path);
  }
  COVE_CHECK(check_kind(group));
  return enable(group, controllers);
}

}  // namespace

Result<std::string> find_parent_v2(const Hierarchy& hierarchy, const Limits& limits) {
  const std::vector<std::string> controllers = controllers_for(limits);
  const std::string offered = read_text(hierarchy.mount + "/cgroup.controllers");
  for (const std::string& one : controllers) {
    if (!has_word(offered, one)) return fail(Errc::not_found, hierarchy.mount + " has no controller '" + one + "'");
  }
  std::string group = hierarchy.own;
  while (true) {
    auto usable = check_usable(group, controllers);
    if (usable) return group;
    if (group == hierarchy.mount) return fail(std::move(usable).error());
    group.resize(group.rfind('/'));
  }
}

// memory.oom.group stays 0, as it is in a new group: one command dies of its hunger, not the sandbox.
Result<void> set_limits_v2(const std::string& directory, const Limits& limits) {
  if (limits.memory_bytes > 0) {
    COVE_CHECK(write_text(directory + "/memory.max", std::to_string(limits.memory_bytes)));
    const std::string swap = directory + "/memory.swap.max";
    if (access(swap.c_str(), F_OK) == 0) COVE_CHECK(write_text(swap, "0"));
  }
  if (limits.cpus > 0) {
    const std::string quota = std::to_string(cpu_quota_us(limits.cpus)) + " " + std::to_string(kCpuPeriodUs);
    COVE_CHECK(write_text(directory + "/cpu.max", quota));
  }
  if (limits.pids > 0) COVE_CHECK(write_text(directory + "/pids.max", std::to_string(limits.pids)));
  return {};
}

}  // namespace cove::os
