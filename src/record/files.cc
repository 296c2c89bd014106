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

Result<void> write_new_file_at(int directory, const std::string& name, std::string_view bytes) {
  const UniqueFd fd(openat(directory, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return fail_errno("create " + name);
  return write_all(fd.get(), bytes, name);
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

}  // namespace cove::record
