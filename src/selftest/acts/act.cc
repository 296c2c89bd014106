#include "selftest/acts/act.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

namespace cove::acts {

std::string errno_text(int number) {
  const char* name = strerrorname_np(number);
  return (name != nullptr ? name : std::to_string(number)) + std::string(" (") + strerror(number) + ")";
}

std::string errno_text() { return errno_text(errno); }

Act refused_by_errno(std::string_view what) { return refused(std::string(what) + ": " + errno_text()); }

Act by_result(long result, std::string_view what) {
  return result < 0 ? refused_by_errno(what) : did(std::string(what) + " succeeded");
}

Act by_reach(long result, std::string_view what) {
  if (result >= 0) return did(std::string(what) + " succeeded");
  if (errno == EPERM || errno == EACCES || errno == ENOSYS) return refused_by_errno(what);
  return did(std::string(what) + " reached the kernel, which answered " + errno_text());
}

Act in_child(Act (*run)(const Args&), const Args& args) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return refused_by_errno("pipe");
  const pid_t pid = fork();
  if (pid < 0) return refused_by_errno("fork");
  if (pid == 0) {
    const Act act = run(args);
    [[maybe_unused]] const ssize_t told = write(ends[1], act.text.data(), act.text.size());
    _exit(static_cast<int>(act.result));
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof(buffer))) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  if (WIFSIGNALED(status)) return refused(std::string("killed by signal ") + strsignal(WTERMSIG(status)));
  const int code = WEXITSTATUS(status);
  if (code != 0 && code != 1 && code != 3) return refused("the child ended with " + std::to_string(code));
  return {static_cast<Result>(code), text};
}

bool read_file(const std::string& path, std::string& content, std::size_t limit) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return false;
  content.clear();
  char buffer[16384];
  ssize_t n = 0;
  while (content.size() < limit && (n = read(file, buffer, sizeof(buffer))) > 0)
    content.append(buffer, static_cast<std::size_t>(n));
  const int error = errno;
  close(file);
  errno = error;
  return n >= 0;
}

bool write_file(const std::string& path, std::string_view content, int flags) {
  const int file = open(path.c_str(), flags | O_WRONLY | O_CLOEXEC, 0644);
  if (file < 0) return false;
  const ssize_t n = write(file, content.data(), content.size());
  const int error = errno;
  close(file);
  errno = error;
  return n == static_cast<ssize_t>(content.size());
}

bool file_holds(const std::string& path, std::string_view text) {
  std::string content;
  return read_file(path, content) && content.find(text) != std::string::npos;
}

std::vector<std::string> entries(const std::string& path) {
  std::vector<std::string> names;
  DIR* directory = opendir(path.c_str());
  if (directory == nullptr) return names;
  while (const dirent* entry = readdir(directory)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  closedir(directory);
  return names;
}

// The parent is one of the guest's processes; those above it that are called like ours are the others.
std::vector<int> guests() {
  std::vector<int> pids{getppid()};
  std::string name, stat;
  while (pids.back() > 1 && pids.size() < 8) {
    if (!read_file("/proc/" + std::to_string(pids.back()) + "/stat", stat)) break;
    const std::size_t end = stat.rfind(") ");
    const int parent = end == std::string::npos ? 0 : std::atoi(stat.c_str() + end + 4);
    if (parent <= 0 || !read_file("/proc/" + std::to_string(parent) + "/comm", name)) break;
    if (!name.starts_with("cove-")) break;
    pids.push_back(parent);
  }
  return pids;
}

}  // namespace cove::acts
