#include "record/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

namespace cove::record {
namespace {

Result<void> write_all(int fd, std::string_view bytes, const std::string& name) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("write " + name);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

}  // namespace

Result<std::string> read_file_at(int directory, const std::string& name) {
  const UniqueFd fd(openat(directory, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd) return fail_errno("open " + name);
  struct stat info{};
  if (fstat(fd.get(), &info) < 0) return fail_errno("stat " + name);
  if (!S_ISREG(info.st_mode)) return fail(Errc::denied, name + " is not a regular file");
  if (static_cast<std::uint64_t>(info.st_size) > kMaxSmallFile) return fail(Errc::invalid, name + " is too large");
  std::string bytes(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t n = read(fd.get(), bytes.data() + have, bytes.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("read " + name);
    if (n == 0) break;
    have += static_cast<std::size_t>(n);
  }
  bytes.resize(have);
  return bytes;
}

Result<void> write_file_at(int directory, const std::string& name, std::string_view bytes) {
  const std::string aside = "." + name + ".new";
  const UniqueFd fd(openat(directory, aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return fail_errno("create " + name);
  auto written = write_all(fd.get(), bytes, name);
  if (written && renameat(directory, aside.c_str(), directory, name.c_str()) < 0)
    written = fail_errno("rename " + name);
  if (!written) unlinkat(directory, aside.c_str(), 0);
  return written;
}

Result<UniqueFd> open_private_directory(int parent, const std::string& name, const std::string& shown) {
  UniqueFd fd(openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return fail_errno("open " + shown);
  struct stat info{};
  if (fstat(fd.get(), &info) < 0) return fail_errno("stat " + shown);
  if (info.st_uid != geteuid()) {
    return fail(Errc::denied, shown + " belongs to user id " + std::to_string(info.st_uid) +
                                  ", not to you: set COVE_HOME to a directory of your own");
  }
  if ((info.st_mode & 022) != 0) {
    return fail(Errc::denied, shown + " can be written by others: run 'chmod go-w " + shown + "'");
  }
  return fd;
}

Result<std::vector<std::string>> names_in(int directory) {
  const int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* open_directory = copy < 0 ? nullptr : fdopendir(copy);
  if (open_directory == nullptr) return fail_errno("list a directory");
  std::vector<std::string> names;
  while (const dirent* entry = readdir(open_directory)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  closedir(open_directory);
  return names;
}

namespace {

// Also one that its modes close: what a sandbox left is not ours alone to arrange.
UniqueFd open_to_empty(int parent, const std::string& name) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
  UniqueFd inside(openat(parent, name.c_str(), kFlags));
  struct stat info{};
  if (!inside && errno == EACCES && fstatat(parent, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISDIR(info.st_mode) && fchmodat(parent, name.c_str(), 0700, 0) == 0) {
    inside.reset(openat(parent, name.c_str(), kFlags));
  }
  if (inside && fstat(inside.get(), &info) == 0 && (info.st_mode & 0700) != 0700) fchmod(inside.get(), 0700);
  return inside;
}

// Empties one directory; its own directories are moved to `top`, so that no depth is too deep.
Result<void> flatten(int top, const std::string& name, std::size_t& moved) {
  const UniqueFd inside = open_to_empty(top, name);
  if (!inside) return fail_errno("remove " + name);
  COVE_TRY(const auto names, names_in(inside.get()));
  for (const std::string& entry : names) {
    if (unlinkat(inside.get(), entry.c_str(), 0) == 0 || errno == ENOENT) continue;
    if (errno != EISDIR && errno != EPERM) return fail_errno("remove " + entry);
    fchmodat(inside.get(), entry.c_str(), 0700, 0);  // moving it writes to it
    const std::string aside = ".moved-" + std::to_string(moved++);
    if (renameat(inside.get(), entry.c_str(), top, aside.c_str()) < 0) return fail_errno("remove " + entry);
  }
  if (unlinkat(top, name.c_str(), AT_REMOVEDIR) < 0 && errno != ENOENT) return fail_errno("remove " + name);
  return {};
}

}  // namespace

Result<void> remove_tree_at(int parent, const std::string& name) {
  if (unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT) return {};
  const UniqueFd top = open_to_empty(parent, name);
  if (!top) return fail_errno("remove " + name);
  std::size_t moved = 0;
  while (true) {
    COVE_TRY(const auto names, names_in(top.get()));
    if (names.empty()) break;
    for (const std::string& entry : names) {
      if (unlinkat(top.get(), entry.c_str(), 0) == 0 || errno == ENOENT) continue;
      COVE_CHECK(flatten(top.get(), entry, moved));
    }
  }
  if (unlinkat(parent, name.c_str(), AT_REMOVEDIR) < 0 && errno != ENOENT) return fail_errno("remove " + name);
  return {};
}

}  // namespace cove::record
