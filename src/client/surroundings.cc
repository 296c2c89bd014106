#include "client/surroundings.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "client/launch.h"
#include "os/proc_stat.h"

extern char** environ;

namespace cove {
namespace {

// Of /proc/self/status: what is inherited. The rest changes all the time.
constexpr std::array<std::string_view, 11> kInherited{
    "Umask:",  "Uid:",    "Gid:",        "Groups:",  "CapInh:",           "CapPrm:",
    "CapBnd:", "CapAmb:", "NoNewPrivs:", "Seccomp:", "Cpus_allowed_list:"};

template <class Number>
void add(std::string& text, Number number) {
  text += std::to_string(number);
  text += ' ';
}

void add_status(std::string& text) {
  const std::string status = os::read_proc("/proc/self/status");
  for (std::string_view rest = status; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n') + 1);
    for (const std::string_view name : kInherited) {
      if (line.starts_with(name)) text += line;
    }
    rest.remove_prefix(line.empty() ? rest.size() : line.size());
  }
}

bool add_file(std::string& text, const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) < 0) return false;
  add(text, info.st_dev);
  add(text, info.st_ino);
  add(text, info.st_ctim.tv_sec * 1'000'000'000 + info.st_ctim.tv_nsec);
  return true;
}

// As exec finds it.
void add_program(std::string& text, const std::string& program) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr || program.find('/') != std::string::npos ? "" : path;
  if (rest.empty()) add_file(text, program);
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    if (add_file(text, std::string(folder) + "/" + program)) return;
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
  }
}

void add_namespaces(std::string& text) {
  for (const char* name : {"cgroup", "ipc", "mnt", "net", "pid_for_children", "time_for_children", "user", "uts"}) {
    struct stat info{};  // its times are those of this look
    if (stat((std::string("/proc/self/ns/") + name).c_str(), &info) == 0) add(text, info.st_ino);
  }
}

}  // namespace

std::string surroundings() {
  std::string text;
  add(text, getpid());
  add(text, getpriority(PRIO_PROCESS, 0));
  for (int i = 0; i < RLIM_NLIMITS; ++i) {
    rlimit limit{};
    getrlimit(static_cast<__rlimit_resource_t>(i), &limit);
    add(text, limit.rlim_cur);
    add(text, limit.rlim_max);
  }
  add_program(text, keeper_program());
  add_namespaces(text);
  add_status(text);
  text += os::read_proc("/proc/self/cgroup");
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    text += *entry;
    text += '\0';
  }
  return text;
}

}  // namespace cove
