#include "guest/untouched.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "os/proc_stat.h"
#include "session/dialect.h"

namespace cove::guest {
namespace {

std::string in_proc(pid_t pid, const std::string& what) { return "/proc/" + std::to_string(pid) + "/" + what; }

std::string target_of(const std::string& link) {
  std::array<char, 4096> target;
  const ssize_t n = readlink(link.c_str(), target.data(), target.size());
  return {target.data(), n < 0 ? 0 : static_cast<std::size_t>(n)};
}

bool is_pipe_of(const std::string& link, const UniqueFd& end) {
  struct stat info{};
  return fstat(end.get(), &info) == 0 && target_of(link) == "pipe:[" + std::to_string(info.st_ino) + "]";
}

// Also if that was removed and made anew, or the files were exchanged.
bool stands_in(pid_t pid, const std::string& directory) {
  struct stat its{}, there{};
  return stat(in_proc(pid, "cwd").c_str(), &its) == 0 && stat(directory.c_str(), &there) == 0 &&
         its.st_dev == there.st_dev && its.st_ino == there.st_ino;
}

std::vector<int> numbers_in(const std::string& path) {
  std::vector<int> found;
  DIR* directory = opendir(path.c_str());
  if (directory == nullptr) return found;
  while (const dirent* entry = readdir(directory)) {
    if (entry->d_name[0] != '.') found.push_back(std::atoi(entry->d_name));
  }
  closedir(directory);
  std::sort(found.begin(), found.end());
  return found;
}

// A shell that redirects one of its own builtins keeps what was there as its first free one from 10 on, closed on exec.
bool is_put_aside(pid_t pid, int fd) {
  constexpr std::string_view kFlags = "flags:";
  const std::string info = os::read_proc(in_proc(pid, "fdinfo/" + std::to_string(fd)).c_str());
  const std::size_t at = info.find(kFlags);
  return at != std::string::npos && (std::strtoul(info.c_str() + at + kFlags.size(), nullptr, 8) & O_CLOEXEC) != 0;
}

// Its three, and those that the session's text puts back itself. When it tells that it is done, its output is still put
// aside: the descriptor that stands for it meanwhile is of no interest.
bool has_its_descriptors(const Process& shell) {
  const pid_t pid = shell.tree->main_pid();
  const std::string path = in_proc(pid, "fd");
  const std::vector<int> numbers = numbers_in(path);
  constexpr int kCount = session::kLastFd + 1, kAside = 10;
  const bool tells = numbers.size() == kCount + 1 && numbers[kCount] == kAside && is_put_aside(pid, kAside);
  if ((numbers.size() != kCount && !tells) || numbers[kCount - 1] != session::kLastFd) return false;
  return target_of(path + "/0") == "/dev/null" && is_pipe_of(path + (tells ? "/10" : "/1"), shell.out) &&
         is_pipe_of(path + "/2", shell.err ? shell.err : shell.out);
}

bool has_its_limits(pid_t pid, const Trees& trees) {
  for (int i = 0; i < RLIM_NLIMITS; ++i) {
    const auto kind = static_cast<__rlimit_resource_t>(i);
    rlimit own{}, its{};
    if (getrlimit(kind, &own) < 0 || prlimit(pid, static_cast<__rlimit_resource>(i), nullptr, &its) < 0) return false;
    if (kind == RLIMIT_NPROC && trees.most_processes != RLIM_INFINITY)
      own = {trees.most_processes, trees.most_processes};
    if (kind == RLIMIT_NOFILE && trees.soft_files != RLIM_INFINITY) own.rlim_cur = trees.soft_files;
    if (own.rlim_cur != its.rlim_cur || own.rlim_max != its.rlim_max) return false;
  }
  return true;
}

bool is_alone(const Tree& tree) {
  const std::vector<pid_t> all = os::descendants(tree.reaper());
  return all.size() == 1 && all[0] == tree.main_pid();
}

bool is_empty(int pipe) {
  int bytes = 0;
  return ioctl(pipe, FIONREAD, &bytes) == 0 && bytes == 0;
}

}  // namespace

bool is_untouched(const Process& shell, int go, const Trees& trees, const std::string& cwd) {
  const pid_t pid = shell.tree->main_pid();
  if (pid == 0 || !is_empty(go) || !stands_in(pid, cwd)) return false;
  return has_its_descriptors(shell) && has_its_limits(pid, trees) && is_alone(*shell.tree);
}

}  // namespace cove::guest
