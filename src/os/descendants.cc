#include "os/descendants.h"

#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

#include "os/child.h"
#include "os/proc_stat.h"

namespace cove::os {
namespace {

template <class Visit>
bool each_number_in(const char* path, Visit visit) {
  DIR* directory = opendir(path);
  if (directory == nullptr) return false;
  while (const dirent* entry = readdir(directory)) {
    const int number = std::atoi(entry->d_name);
    if (number > 0) visit(number);
  }
  closedir(directory);
  return true;
}

// Needs CONFIG_PROC_CHILDREN; false where the kernel does not have it.
bool append_children(pid_t parent, std::vector<pid_t>& found) {
  char path[96];
  std::snprintf(path, sizeof(path), "/proc/%d/task", parent);
  bool known = true;
  each_number_in(path, [&](int task) {
    char file[96];
    std::snprintf(file, sizeof(file), "/proc/%d/task/%d/children", parent, task);
    if (access(file, F_OK) < 0 && access(path, F_OK) == 0 && task == parent) known = false;
    const std::string list = read_proc(file);
    for (const char* at = list.c_str(); *at != '\0';) {
      char* end = nullptr;
      const long pid = std::strtol(at, &end, 10);
      if (end == at) break;
      if (pid > 0) found.push_back(static_cast<pid_t>(pid));
      at = end + std::strspn(end, " \n");
    }
  });
  return known;
}

std::vector<pid_t> scan_all(pid_t root) {
  std::vector<std::pair<pid_t, pid_t>> parents;
  each_number_in("/proc", [&](int pid) { parents.emplace_back(pid, stat_of(pid).parent); });
  std::vector<pid_t> found{root};
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const auto& [pid, parent] : parents) {
      if (parent == found[i] && std::find(found.begin(), found.end(), pid) == found.end()) found.push_back(pid);
    }
  }
  return found;
}

// Living or not: a zombie may be ours to reap.
std::vector<pid_t> everything_below(pid_t root) {
  std::vector<pid_t> found{root};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const pid_t parent = found[i];
    if (append_children(parent, found)) continue;
    found = scan_all(root);
    break;
  }
  found.erase(found.begin());
  return found;
}

bool is_of(pid_t parent, pid_t root, const std::vector<pid_t>& family) {
  return parent == root || std::find(family.begin(), family.end(), parent) != family.end();
}

// gVisor knows no handles. There the look a moment ago must do, and a stranger would be one of the same sandbox.
void signal_it(pid_t pid, int handle, int signal) {
  if (!signal_by_handle(handle, signal) && errno == ENOSYS) kill(pid, signal);
}

// The number is turned into a handle first and looked at again afterwards: if its parent is one of ours, so is it.
void signal_one(pid_t pid, pid_t root, const std::vector<pid_t>& family, int signal) {
  const UniqueFd handle = open_to_signal(pid);
  if (handle && is_of(stat_of(pid).parent, root, family)) signal_it(pid, handle.get(), signal);
}

}  // namespace

std::vector<pid_t> descendants(pid_t root) {
  std::vector<pid_t> all = everything_below(root);
  std::erase_if(all, [](pid_t pid) { return !stat_of(pid).living(); });
  return all;
}

// Parents first, so that no shell lives on to tell of its child's death. All are looked at before the first one is
// signalled: where there are no subreapers (gVisor), the children of one that has died are nobody's of ours.
void signal_descendants(pid_t root, int signal) {
  const std::vector<pid_t> family = everything_below(root);
  std::vector<std::pair<pid_t, unsigned long long>> seen;
  for (const pid_t pid : family) {
    const ProcStat stat = stat_of(pid);
    if (is_of(stat.parent, root, family)) seen.emplace_back(pid, stat.began);
  }
  for (const auto& [pid, began] : seen) {
    const UniqueFd handle = open_to_signal(pid);
    if (handle && stat_of(pid).began == began) signal_it(pid, handle.get(), signal);
  }
}

void terminate_newcomers(pid_t root, std::set<Told>& told) {
  const std::vector<pid_t> family = everything_below(root);
  for (const pid_t pid : family) {
    if (!told.insert({pid, stat_of(pid).stack}).second) continue;
    signal_one(pid, root, family, SIGTERM);
    signal_one(pid, root, family, SIGCONT);
  }
}

Result<void> kill_descendants(pid_t root, Deadline deadline) {
  constexpr long kFirstPause = 50'000, kLongestPause = 1'000'000;
  for (timespec pause{0, kFirstPause};; pause.tv_nsec = std::min(2 * pause.tv_nsec, kLongestPause)) {
    const std::vector<pid_t> family = everything_below(root);
    std::size_t living = 0;
    for (const pid_t pid : family) {
      if (stat_of(pid).living()) {
        signal_one(pid, root, family, SIGKILL);
        ++living;
      }
      if (root == getpid()) waitpid(pid, nullptr, WNOHANG);
    }
    if (living == 0) return {};
    if (deadline.passed()) {
      return fail(Errc::timeout, "end processes: " + std::to_string(living) + " of them do not die");
    }
    nanosleep(&pause, nullptr);
  }
}

}  // namespace cove::os
