#include <unistd.h>

#include "os/limits_detail.h"

namespace cove::os {
namespace {

Result<void> set_memory(const std::string& directory, std::uint64_t bytes) {
  const std::string text = std::to_string(bytes);
  COVE_CHECK(write_text(directory + "/memory.limit_in_bytes", text));
  // Memory and swap together, so that nothing is left for swap. Only with swap accounting; never below the other one.
  const std::string together = directory + "/memory.memsw.limit_in_bytes";
  if (access(together.c_str(), F_OK) < 0) return {};
  return write_text(together, text);
}

Result<void> set_cpus(const std::string& directory, double cpus) {
  COVE_CHECK(write_text(directory + "/cpu.cfs_period_us", std::to_string(kCpuPeriodUs)));
  return write_text(directory + "/cpu.cfs_quota_us", std::to_string(cpu_quota_us(cpus)));
}

}  // namespace

Result<void> set_limits_v1(const std::string& directory, const Limits& limits) {
  if (limits.memory_bytes > 0) COVE_CHECK(set_memory(directory, limits.memory_bytes));
  if (limits.cpus > 0) COVE_CHECK(set_cpus(directory, limits.cpus));
  if (limits.pids > 0) COVE_CHECK(write_text(directory + "/pids.max", std::to_string(limits.pids)));
  return {};
}

}  // namespace cove::os
