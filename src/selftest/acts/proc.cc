// /proc, /sys and cgroups as ways out.

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <deque>
#include <sstream>

#include "selftest/acts/act.h"

namespace cove::acts {
namespace {

// args: a file. Opening for writing is enough; nothing is written.
Act open_for_writing(const Args& args) {
  const int file = open(args[0].c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0 && errno == ENOENT) return refused(args[0] + " is not there");
  return by_result(file, "open " + args[0] + " for writing");
}

// args: a file. One that is empty, or /dev/null put over it, holds nothing.
Act read_some(const Args& args) {
  std::string content;
  if (!read_file(args[0], content, 4096)) return refused_by_errno("read " + args[0]);
  if (content.find_first_not_of(" \n0") == std::string::npos) return refused(args[0] + " holds nothing");
  return did("read " + std::to_string(content.size()) + " bytes of " + args[0]);
}

// args: a directory. One that is empty is covered.
Act list_some(const Args& args) {
  const auto names = entries(args[0]);
  if (names.empty()) return refused(args[0] + " shows nothing");
  return did(args[0] + " shows " + names[0]);
}

// Addresses other than zero, which is what a kernel shows to those who may not know them.
Act kernel_symbols(const Args&) {
  std::string content;
  if (!read_file("/proc/kallsyms", content, 4096)) return refused_by_errno("read /proc/kallsyms");
  std::istringstream lines(content);
  for (std::string line; std::getline(lines, line);) {
    const std::string address = line.substr(0, line.find(' '));
    if (address.size() == 16 && address.find_first_not_of('0') != std::string::npos)
      return did("kernel addresses can be read");
  }
  return refused("addresses are hidden");
}

// args: a directory. Opens every file below it for writing until one can be.
Act writable_below(const Args& args) {
  std::deque<std::string> todo{args[0]};
  std::size_t tried = 0;
  while (!todo.empty()) {
    const std::string directory = todo.front();
    todo.pop_front();
    for (const std::string& name : entries(directory)) {
      const std::string path = directory + "/" + name;
      struct stat info{};
      if (lstat(path.c_str(), &info) < 0) continue;
      if (S_ISDIR(info.st_mode)) todo.push_back(path);
      if (!S_ISREG(info.st_mode) || (info.st_mode & 0222) == 0) continue;
      ++tried;
      if (open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK) >= 0) return did(path + " can be opened for writing");
    }
  }
  if (tried == 0) return refused("no file below " + args[0]);
  return refused("none of " + std::to_string(tried) + " files can be opened for writing");
}

// args: a process's number, or "parent". Its program must not be open to writing by /proc (CVE-2019-5736). While it
// runs the kernel answers ETXTBSY, but only to those who might write to it later.
Act overwrite_program(const Args& args) {
  const std::string pid = args[0] == "parent" ? std::to_string(getppid()) : args[0];
  const std::string path = "/proc/" + pid + "/exe";
  const int program = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (program < 0) return refused_by_errno("open " + path);
  const int seals = fcntl(program, F_GET_SEALS);
  if (seals >= 0 && (seals & F_SEAL_WRITE) != 0) return refused(path + " is sealed against writing");
  const std::string again = "/proc/self/fd/" + std::to_string(program);
  const int writer = open(again.c_str(), O_WRONLY | O_CLOEXEC);
  if (writer >= 0) return did(path + " can be opened for writing");
  if (errno == ETXTBSY) return did(path + " can be written to as soon as it does not run");
  return refused_by_errno("open " + path + " for writing");
}

// args: a path of the host without its first slash. Walks up from everything that a process has open, and from its
// working directory (CVE-2024-21626).
Act walk_up(const Args& args) {
  std::string up, content;
  for (int i = 0; i < 32; ++i) up += "../";
  std::size_t tried = 0;
  for (const std::string& pid : {std::string("self"), std::to_string(getppid()), std::string("1")}) {
    const std::string base = "/proc/" + pid;
    std::vector<std::string> from{base + "/cwd/", base + "/root/"};
    for (const std::string& fd : entries(base + "/fd")) from.push_back(base + "/fd/" + fd + "/");
    for (const std::string& each : from) {
      ++tried;
      if (read_file(each + up + args[0], content)) return did(content);
      if (read_file(each + args[0], content)) return did(content);
    }
  }
  return refused("not by any of " + std::to_string(tried) + " directories");
}

// A file by which a process of the host is started when a cgroup gets empty. Opening it for writing is enough.
Act release_agent(const Args&) {
  std::string mounts;
  read_file("/proc/self/mounts", mounts);
  std::istringstream lines(mounts);
  std::size_t seen = 0;
  for (std::string device, at, type, rest; lines >> device >> at >> type && std::getline(lines, rest);) {
    if (type != "cgroup") continue;
    ++seen;
    if (open((at + "/release_agent").c_str(), O_WRONLY | O_CLOEXEC) >= 0)
      return did(at + "/release_agent can be written");
  }
  return refused("none in the " + std::to_string(seen) + " cgroup v1 hierarchies that are mounted");
}

// Any cgroup in which a group can be made or a process moved.
Act change_cgroup(const Args&) {
  std::string mounts;
  read_file("/proc/self/mounts", mounts);
  std::istringstream lines(mounts);
  for (std::string device, at, type, rest; lines >> device >> at >> type && std::getline(lines, rest);) {
    if (!type.starts_with("cgroup")) continue;
    if (open((at + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC) >= 0)
      return did(at + "/cgroup.procs can be written");
  }
  return refused("no cgroup can be changed");
}

Act spare_from_oom(const Args&) {
  if (!write_file("/proc/self/oom_score_adj", "-1000", 0)) return refused_by_errno("write oom_score_adj");
  return did("cannot be chosen by the out-of-memory killer any more");
}

constexpr Entry kProcEntries[] = {
    {"open_for_writing", open_for_writing},
    {"read_some", read_some},
    {"list_some", list_some},
    {"kernel_symbols", kernel_symbols},
    {"writable_below", writable_below},
    {"overwrite_program", overwrite_program},
    {"walk_up", walk_up},
    {"release_agent", release_agent},
    {"change_cgroup", change_cgroup},
    {"spare_from_oom", spare_from_oom},
};

}  // namespace

std::span<const Entry> proc_acts() { return kProcEntries; }

}  // namespace cove::acts
