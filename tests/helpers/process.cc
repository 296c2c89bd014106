#include "process.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "base/unique_fd.h"

namespace cove::testing_helpers {
namespace {

std::string proc(pid_t pid, const std::string& file) { return "/proc/" + std::to_string(pid) + "/" + file; }

std::vector<pid_t> all_pids() {
  std::vector<pid_t> pids;
  DIR* directory = opendir("/proc");
  if (directory == nullptr) return pids;
  while (const dirent* entry = readdir(directory)) {
    if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) != 0) pids.push_back(std::stoi(entry->d_name));
  }
  closedir(directory);
  return pids;
}

// State letter and parent, behind the last ')' because a name may hold anything.
struct Stat {
  char state = 'X';
  pid_t parent = 0;
};

Stat stat_of(pid_t pid) {
  const std::string text = slurp(proc(pid, "stat"));
  const auto end = text.rfind(')');
  Stat stat;
  if (end == std::string::npos) return stat;
  std::istringstream(text.substr(end + 1)) >> stat.state >> stat.parent;
  return stat;
}

bool runs(const Stat& stat) { return stat.state != 'X' && stat.state != 'Z'; }

std::vector<pid_t> pids_where(const std::function<bool(pid_t)>& wanted) {
  std::vector<pid_t> pids = all_pids();
  std::erase_if(pids, [&](pid_t pid) { return !wanted(pid); });
  return pids;
}

}  // namespace

// Not by a stream: a process that goes away while its file is read is an exception to those.
std::string slurp(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; file && (n = read(file.get(), buffer, sizeof(buffer))) > 0;) {
    text.append(buffer, static_cast<std::size_t>(n));
  }
  return text;
}

bool eventually(const std::function<bool()>& question, Seconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!question()) {
    if (std::chrono::steady_clock::now() >= end) return question();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

bool alive(pid_t pid) { return runs(stat_of(pid)); }

std::vector<pid_t> children_of(pid_t pid) {
  return pids_where([&](pid_t candidate) {
    const Stat stat = stat_of(candidate);
    return runs(stat) && stat.parent == pid;
  });
}

std::vector<pid_t> descendants_of(pid_t pid) {
  std::vector<pid_t> found = children_of(pid);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto more = children_of(found[i]);
    found.insert(found.end(), more.begin(), more.end());
  }
  return found;
}

std::vector<pid_t> zombies_of(pid_t pid) {
  return pids_where([&](pid_t candidate) {
    const Stat stat = stat_of(candidate);
    return stat.state == 'Z' && stat.parent == pid;
  });
}

std::vector<pid_t> processes_with_env(const std::string& entry) {
  return pids_where([&](pid_t pid) {
    const std::string env = '\0' + slurp(proc(pid, "environ"));
    return env.find('\0' + entry + '\0') != std::string::npos && alive(pid);
  });
}

std::vector<pid_t> processes_with_argument(const std::string& text) {
  return pids_where(
      [&](pid_t pid) { return slurp(proc(pid, "cmdline")).find(text) != std::string::npos && alive(pid); });
}

Held held_by(pid_t pid) {
  Held held;
  const auto count = [&](const char* what) {
    std::error_code gone;
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(proc(pid, what), gone),
                                                  std::filesystem::directory_iterator()));
  };
  held.descriptors = count("fd");
  held.threads = count("task");
  std::istringstream rollup(slurp(proc(pid, "smaps_rollup")));
  for (std::string word; rollup >> word;) {
    if (word == "Pss:" && rollup >> held.pss_bytes) held.pss_bytes *= 1024;
    if (word == "Anonymous:" && rollup >> held.memory_bytes) held.memory_bytes *= 1024;
  }
  return held;
}

std::string command_line(pid_t pid) {
  std::string line = slurp(proc(pid, "cmdline"));
  std::replace(line.begin(), line.end(), '\0', ' ');
  return std::to_string(pid) + ": " + line;
}

std::string describe(const std::vector<pid_t>& pids) {
  std::string text;
  for (const pid_t pid : pids) text += command_line(pid) + "\n";
  return text;
}

}  // namespace cove::testing_helpers
