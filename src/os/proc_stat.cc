#include "os/proc_stat.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "base/unique_fd.h"

namespace cove::os {

std::string read_proc(const char* path) {
  const UniqueFd fd(open(path, O_RDONLY | O_CLOEXEC));
  std::string text;
  if (!fd) return text;
  char buffer[4096];
  ssize_t n = 0;
  while ((n = read(fd.get(), buffer, sizeof(buffer))) > 0) text.append(buffer, static_cast<std::size_t>(n));
  return text;
}

// The name in parentheses may hold anything, also parentheses: the fields begin after the last one.
ProcStat stat_of(pid_t pid) {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/%d/stat", pid);
  const std::string text = read_proc(path);
  const std::size_t name_end = text.rfind(')');
  ProcStat stat;
  if (name_end == std::string::npos) return stat;
  int parent = 0;
  std::sscanf(text.c_str() + name_end + 1,
              " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld"
              " %*d %llu %*u %*d %*u %*u %*u %lu",
              &stat.state, &parent, &stat.threads, &stat.began, &stat.stack);
  stat.parent = parent;
  return stat;
}

}  // namespace cove::os
