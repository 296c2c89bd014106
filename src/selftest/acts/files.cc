// Files and devices, as seen from inside.

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <deque>

#include "selftest/acts/act.h"
#include "selftest/digest.h"

namespace cove::acts {
namespace {

// args: a file name. Looks for it in everything that can be seen, the likely places first, for a few seconds.
Act search(const Args& args) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  std::deque<std::string> todo{"/tmp", "/home", "/root", "/var/tmp", "/dev/shm", "/run", "/mnt", "/srv", "/media", "/"};
  std::size_t seen = 0;
  while (!todo.empty() && std::chrono::steady_clock::now() < end) {
    const std::string directory = todo.front();
    todo.pop_front();
    for (const std::string& name : entries(directory)) {
      ++seen;
      const std::string path = (directory == "/" ? "" : directory) + "/" + name;
      if (name == args[0]) return did("found " + path);
      struct stat info{};
      if (path == "/proc" || lstat(path.c_str(), &info) < 0 || !S_ISDIR(info.st_mode)) continue;
      todo.push_back(path);
    }
  }
  return refused("looked at " + std::to_string(seen) + " names");
}

// args: paths. One line for each that can be read: its digest and its path.
Act digests(const Args& args) {
  std::string lines, content;
  for (const std::string& path : args) {
    if (read_file(path, content)) lines += digest_of(content) + " " + path + "\n";
  }
  return lines.empty() ? refused("none of " + std::to_string(args.size()) + " can be read") : did(lines);
}

// args: directory, "block" or "char", major, minor. Makes the node and reads from it.
Act device_node(const Args& args) {
  const std::string path = args[0] + "/node";
  const dev_t device = makedev(std::stoul(args[2]), std::stoul(args[3]));
  if (mknod(path.c_str(), 0600 | (args[1] == "block" ? S_IFBLK : S_IFCHR), device) < 0)
    return refused_by_errno("mknod");
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  const std::string what = "open a node made for device " + args[2] + ":" + args[3];
  // The kernel looked for the device, so only the device is missing.
  const Act act = file < 0 && (errno == ENXIO || errno == ENODEV) ? did(what + " is allowed") : by_result(file, what);
  if (file >= 0) close(file);
  unlink(path.c_str());
  return act;
}

bool harmless_device(const std::string& name) {
  constexpr std::string_view kUsual[] = {"null", "zero", "full", "random", "urandom", "tty", "ptmx", "console"};
  return std::find(std::begin(kUsual), std::end(kUsual), name) != std::end(kUsual);
}

// A device in /dev that a plain program has no use for and that can be opened.
Act devices(const Args&) {
  std::string found;
  for (const std::string& name : entries("/dev")) {
    const std::string path = "/dev/" + name;
    struct stat info{};
    if (lstat(path.c_str(), &info) < 0 || !(S_ISBLK(info.st_mode) || S_ISCHR(info.st_mode))) continue;
    if (harmless_device(name) || access(path.c_str(), R_OK) < 0) continue;
    if (found.size() < 100) found += " " + name;
  }
  return found.empty() ? refused("nothing in /dev but the usual") : did("in /dev, readable:" + found);
}

// args: devices of the host, by path.
Act open_disks(const Args& args) {
  int error = ENOENT;
  for (const std::string& path : args) {
    if (open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK) >= 0) return did("opened " + path);
    error = errno;
  }
  return refused("open " + args[0] + ": " + errno_text(error));
}

// args: a file. Opened for reading and once more for writing by its descriptor, then written to.
Act reopen(const Args& args) {
  const int file = open(args[0].c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return refused_by_errno("open " + args[0]);
  const std::string again = "/proc/self/fd/" + std::to_string(file);
  if (!write_file(again, "changed", 0)) return refused_by_errno("open it for writing by " + again);
  return did("written by " + again);
}

// args: a file. Changes its mode, its times and its extended attributes; any one of them is enough.
Act change_metadata(const Args& args) {
  if (chmod(args[0].c_str(), 0601) == 0) return did("chmod succeeded");
  const int error = errno;
  if (setxattr(args[0].c_str(), "user.cove", "x", 1, 0) == 0) return did("setxattr succeeded");
  const timespec times[2] = {{1, 0}, {1, 0}};
  if (utimensat(AT_FDCWD, args[0].c_str(), times, 0) == 0) return did("utimensat succeeded");
  return refused("chmod: " + errno_text(error));
}

// args: from, to. A second name for the file, and the content changed by it.
Act link_and_write(const Args& args) {
  if (linkat(AT_FDCWD, args[0].c_str(), AT_FDCWD, args[1].c_str(), 0) < 0) return refused_by_errno("link");
  return by_result(write_file(args[1], "changed", 0) ? 0 : -1, "write by a hard link");
}

constexpr Entry kFilesEntries[] = {
    {"search", search},         {"digests", digests}, {"device_node", device_node},  {"devices", devices},
    {"open_disks", open_disks}, {"reopen", reopen},   {"metadata", change_metadata}, {"link_and_write", link_and_write},
};

}  // namespace

std::span<const Entry> file_acts() { return kFilesEntries; }

}  // namespace cove::acts
