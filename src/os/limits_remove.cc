#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "os/child.h"
#include "os/limits_detail.h"

namespace cove::os {
namespace {

std::vector<std::string> groups_in(const std::string& directory) {
  std::vector<std::string> found;
  DIR* open = opendir(directory.c_str());
  if (open == nullptr) return found;
  while (const dirent* entry = readdir(open)) {
    if (entry->d_type == DT_DIR && entry->d_name[0] != '.') found.push_back(directory + "/" + entry->d_name);
  }
  closedir(open);
  return found;
}

// The number is turned into a handle first and then looked at: if the group is among its groups, the handle is a
// member, or the member has died meanwhile. A stranger that got the number is in another group.
void kill_member(pid_t pid, const std::string& group_name) {
  const UniqueFd handle = open_to_signal(pid);
  if (!handle) return;
  const std::string groups = read_text("/proc/" + std::to_string(pid) + "/cgroup");
  if (groups.find("/" + group_name + "\n") == std::string::npos &&
      groups.find("/" + group_name + "/") == std::string::npos) {
    return;
  }
  signal_by_handle(handle.get(), SIGKILL);
}

void kill_members(const std::string& directory, const std::string& group_name) {
  const std::string members = read_text(directory + "/cgroup.procs");
  for (const char* at = members.c_str(); *at != '\0';) {
    char* end = nullptr;
    const long pid = std::strtol(at, &end, 10);
    if (end == at) break;
    if (pid > 0) kill_member(static_cast<pid_t>(pid), group_name);  // 0: not in our pid namespace
    at = end + std::strspn(end, "\n");
  }
}

// cgroup.kill (v2, Linux 5.14) takes everything below too, at once. Elsewhere no new process may start while the
// members are killed one by one, where the group can forbid it.
void kill_group(const std::string& directory, const std::string& group_name) {
  if (write_text(directory + "/cgroup.kill", "1")) return;
  [[maybe_unused]] const auto stopped = write_text(directory + "/pids.max", "0");
  kill_members(directory, group_name);
  for (const std::string& below : groups_in(directory)) kill_group(below, group_name);
}

// Leaves first. False: something is in the way.
bool remove_tree(const std::string& directory) {
  if (rmdir(directory.c_str()) == 0 || errno == ENOENT) return true;
  for (const std::string& below : groups_in(directory)) remove_tree(below);
  return rmdir(directory.c_str()) == 0 || errno == ENOENT;
}

}  // namespace

Result<void> remove_groups(const std::vector<std::string>& directories, Deadline deadline) {
  long pause_ns = 100'000;
  // The last one first: that is the one that can stop forks.
  for (auto directory = directories.rbegin(); directory != directories.rend(); ++directory) {
    while (!remove_tree(*directory)) {
      if (errno != EBUSY) return fail_errno("remove the control group " + *directory);
      if (deadline.passed()) return fail(Errc::timeout, "remove the control group " + *directory + ": it is not empty");
      kill_group(*directory, directory->substr(directory->rfind('/') + 1));
      // A dying process leaves its group without telling on v1.
      const timespec pause{0, pause_ns};
      nanosleep(&pause, nullptr);
      pause_ns = std::min(pause_ns * 2, 5'000'000L);
    }
  }
  return {};
}

}  // namespace cove::os
