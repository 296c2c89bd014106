#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "client/nursery.h"
#include "helpers/home.h"
#include "helpers/process.h"
#include "measures.h"

namespace cove::bench {
namespace {

using namespace testing_helpers;

double available_mib() {
  std::istringstream lines(slurp("/proc/meminfo"));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("MemAvailable:")) return std::stod(line.substr(13)) / 1024;
  }
  give_up("/proc/meminfo does not tell MemAvailable");
}

double mean(const std::vector<double>& values, std::size_t from, std::size_t to) {
  double sum = 0;
  for (std::size_t i = from; i < to; ++i) sum += values[i];
  return sum / static_cast<double>(to - from);
}

// Keepers, guests and whatever else runs for them. By the kernel's own lists: thousands of looks at all of /proc would
// take minutes.
std::vector<pid_t> all_of_ours() {
  std::vector<pid_t> pids = processes_with_env("COVE_HOME=" + home().path());
  std::erase(pids, getpid());
  for (std::size_t i = 0; i < pids.size(); ++i) {
    const std::string pid = std::to_string(pids[i]);
    std::istringstream children(slurp("/proc/" + pid + "/task/" + pid + "/children"));
    for (pid_t child = 0; children >> child;) {
      if (std::find(pids.begin(), pids.end(), child) == pids.end()) pids.push_back(child);
    }
  }
  return pids;
}

double pss_mib(const std::vector<pid_t>& pids) {
  std::uint64_t bytes = 0;
  for (const pid_t pid : pids) bytes += held_by(pid).pss_bytes;
  return static_cast<double>(bytes) / (1 << 20);
}

// Two descriptors and more for each; a hard limit below that makes the creation fail and say so.
void allow_many_descriptors() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

std::vector<Row> thousand(Effort effort) {
  allow_many_descriptors();
  run_true(*std::make_unique<Sandbox>(make_sandbox(native_spec())));  // the first one makes the host image
  const auto count = static_cast<std::size_t>(std::max(20, effort.times(1000)));
  const std::size_t part = count / 10;
  const double available = available_mib();
  std::vector<Sandbox> sandboxes;
  std::vector<double> times;
  for (std::size_t i = 0; i < count; ++i) {
    const SandboxSpec spec = native_spec();
    const auto begin = Clock::now();
    sandboxes.push_back(make_sandbox(spec));
    run_true(sandboxes.back());
    times.push_back(Milliseconds(Clock::now() - begin).count());
  }
  // Idle is without prepared shells, and without a keeper ahead: a keeper and a guest each.
  Nursery::of_this_process().close();
  std::vector<pid_t> pids;
  if (!eventually([&] { return (pids = all_of_ours()).size() <= 2 * count; }, Seconds(60)))
    give_up(std::to_string(pids.size()) + " processes for " + std::to_string(count) + " idle sandboxes");
  const double pss = pss_mib(pids), used = available - available_mib();
  Samples remove;
  while (!sandboxes.empty()) remove.time([&] { sandboxes.pop_back(); });
  const std::string many = std::to_string(count) + " native sandboxes";
  const auto sandboxes_made = static_cast<double>(count);
  return {{"create + command, last tenth of " + many, mean(times, count - part, count), "ms", "first tenth",
           mean(times, 0, part), at_most(1.5)},
          {"PSS of each of " + many, pss / sandboxes_made, "MiB", "", 0, at_most(3)},
          {"MemAvailable less by, each of " + many, used / sandboxes_made, "MiB", "", 0, {}},
          {"processes of " + many, static_cast<double>(pids.size()), "", "", 0, at_most(2 * sandboxes_made)},
          row("remove, one of " + many, remove)};
}

}  // namespace cove::bench
