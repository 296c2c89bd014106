#pragma once

// What the tests of this folder share: a scratch directory, requests over memory files, and a picture of a tree.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "base/unique_fd.h"
#include "guest/fd_io.h"
#include "guest/files.h"

namespace cove::guest {

inline int shell(const std::string& script) { return std::system(("set -e; " + script).c_str()); }

// Where ten thousand directories cost no disk.
inline std::string fast_base() {
  return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : std::filesystem::temp_directory_path().string();
}

class Scratch {
 public:
  explicit Scratch(std::string base = std::filesystem::temp_directory_path()) : path_(base + "/cove-test-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr || chmod(path_.c_str(), 0755) < 0) std::abort();
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { (void)shell("rm -rf '" + path_ + "'"); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline void put(const std::string& path, std::string_view bytes) { std::ofstream(path, std::ios::binary) << bytes; }
inline std::string get(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

// A file in memory, read from its beginning.
inline UniqueFd memory_file(std::string_view bytes) {
  UniqueFd fd(memfd_create("test", MFD_CLOEXEC));
  if (!fd || !write_all(fd.get(), bytes, "fill") || lseek(fd.get(), 0, SEEK_SET) != 0) std::abort();
  return fd;
}
inline std::string bytes_of(int fd) {
  std::string bytes(static_cast<std::size_t>(lseek(fd, 0, SEEK_END)), '\0');
  if (pread(fd, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) std::abort();
  return bytes;
}

// A FileRequest of which a test names only what it is about.
struct Ask {
  proto::FileOp op = proto::FileOp::stat;
  std::string path = {}, target = {};
  std::uint64_t offset = 0, limit = 0;
  std::uint32_t mode = 0644;
  operator proto::FileRequest() const { return {op, path, target, offset, limit, mode}; }
};

struct Ran {
  FileOutcome outcome;
  std::string output;
  bool ok() const { return outcome.error_text.empty(); }
};
inline Ran run(const Ask& request, std::string_view input = {}) {
  const UniqueFd in = memory_file(input), out = memory_file({});
  Ran ran;
  ran.outcome = run_file_request(request, in.get(), out.get());
  ran.output = bytes_of(out.get());
  return ran;
}

// Runs it as somebody to whom permissions apply.
template <class Body>
std::string as_nobody(Body body) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) std::abort();
  const pid_t pid = fork();
  if (pid == 0) {
    if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0)) _exit(1);
    (void)write_all(ends[1], body(), "tell");
    _exit(0);
  }
  close(ends[1]);
  std::string text(4096, '\0');
  const ssize_t size = read(ends[0], text.data(), text.size());
  close(ends[0]);
  waitpid(pid, nullptr, 0);
  return text.substr(0, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
}

enum class Times { exact, seconds };

// Every name below a directory with what is to be kept: type, mode, time, content, and which names are one file.
inline std::map<std::string, std::string> picture(const std::string& root, Times times = Times::exact) {
  std::map<std::string, std::string> tree;
  std::map<ino_t, std::string> first;
  std::map<std::string, std::filesystem::path> sorted;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    sorted[entry.path().lexically_relative(root).string()] = entry.path();
  }
  for (const auto& [name, path] : sorted) {
    struct stat info;
    if (lstat(path.c_str(), &info) < 0) std::abort();
    std::ostringstream line;
    line << std::oct << info.st_mode << std::dec << " " << info.st_mtim.tv_sec;
    if (times == Times::exact) line << "." << info.st_mtim.tv_nsec;
    if (S_ISREG(info.st_mode)) line << " " << get(path);
    if (S_ISLNK(info.st_mode)) line << " -> " << std::filesystem::read_symlink(path).string();
    if (!S_ISDIR(info.st_mode)) line << " = " << first.try_emplace(info.st_ino, name).first->second;
    tree[name] = line.str();
  }
  return tree;
}

// Directories in one another, by descriptors: the path is longer than the kernel takes.
inline void make_deep(const std::string& top, int levels) {
  if (mkdir(top.c_str(), 0755) < 0) std::abort();
  UniqueFd fd(open(top.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int i = 0; i < levels; ++i) {
    if (mkdirat(fd.get(), "d", 0755) < 0) std::abort();
    fd.reset(openat(fd.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  const UniqueFd leaf(openat(fd.get(), "leaf", O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
  if (!leaf) std::abort();
}
inline int depth_of(const std::string& top) {
  UniqueFd fd(open(top.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  int levels = 0;
  for (;; ++levels) {
    UniqueFd below(openat(fd.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!below) break;
    fd = std::move(below);
  }
  return faccessat(fd.get(), "leaf", F_OK, 0) == 0 ? levels : -1;
}

}  // namespace cove::guest
