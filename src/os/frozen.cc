#include "os/frozen.h"

#include <algorithm>
#include <csignal>
#include <ctime>

#include "base/deadline.h"
#include "os/child.h"
#include "os/descendants.h"
#include "os/proc_stat.h"

namespace cove::os {
namespace {

// The number is turned into a handle before it is looked at: what was seen is what is signalled. No handles are kept,
// because there may be more processes than descriptors.
bool signal_if_same(pid_t pid, unsigned long long began, int signal) {
  const UniqueFd handle = open_to_signal(pid);
  return handle && stat_of(pid).began == began && signal_by_handle(handle.get(), signal);
}

}  // namespace

bool Frozen::is_ours(pid_t pid, unsigned long long began) const {
  return std::any_of(stopped_.begin(), stopped_.end(),
                     [&](const Stopped& one) { return one.pid == pid && one.began == began; });
}

// Parents first, so that a shell is not told that its job has stopped.
bool Frozen::all_stand(pid_t root) {
  bool all = true;
  for (const pid_t pid : descendants(root)) {
    const ProcStat stat = stat_of(pid);
    if (!stat.living() || stat.stopped()) continue;
    const bool told = is_ours(pid, stat.began);
    if (told && stat.state == 'D') continue;
    all = false;
    if (!told && signal_if_same(pid, stat.began, SIGSTOP)) stopped_.push_back({pid, stat.began});
  }
  return all;
}

Frozen::Frozen(pid_t root, std::chrono::milliseconds limit) {
  const Deadline deadline = Deadline::after(limit);
  while (!all_stand(root) && !deadline.passed()) {
    const timespec pause{0, 50'000};
    nanosleep(&pause, nullptr);
  }
}

// Children first: when a shell looks, its jobs run.
Frozen::~Frozen() {
  for (auto one = stopped_.rbegin(); one != stopped_.rend(); ++one) signal_if_same(one->pid, one->began, SIGCONT);
}

}  // namespace cove::os
