#include "image/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace cove::image {

Result<void> write_bytes(int fd, std::string_view bytes, const std::string& what) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(what);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Result<std::string> read_small_file(const std::string& path, std::size_t most_bytes) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd) return fail_errno("open " + path);
  struct stat info{};
  if (fstat(fd.get(), &info) < 0) return fail_errno("stat " + path);
  if (!S_ISREG(info.st_mode)) return fail(Errc::denied, path + " is not a regular file");
  if (static_cast<std::uint64_t>(info.st_size) > most_bytes) return fail(Errc::invalid, path + " is too large");
  std::string bytes(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t n = read(fd.get(), bytes.data() + have, bytes.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("read " + path);
    if (n == 0) break;
    have += static_cast<std::size_t>(n);
  }
  bytes.resize(have);
  return bytes;
}

Result<void> sync_directory(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail_errno("open " + path);
  if (fsync(fd.get()) < 0) return fail_errno("sync " + path);
  return {};
}

Result<void> replace_file(const std::string& directory, const std::string& name, std::string_view bytes) {
  static std::atomic<unsigned> number{0};
  const std::string aside = directory + "/.new-" + std::to_string(getpid()) + "-" + std::to_string(number++);
  const std::string path = directory + "/" + name;
  const UniqueFd fd(open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return fail_errno("create " + path);
  auto written = write_bytes(fd.get(), bytes, "write " + path);
  if (written && fsync(fd.get()) < 0) written = fail_errno("sync " + path);
  if (written && rename(aside.c_str(), path.c_str()) < 0) written = fail_errno("rename " + path);
  if (written) return sync_directory(directory);
  unlink(aside.c_str());
  return written;
}

Result<void> make_private_directory(const std::string& path) {
  if (mkdir(path.c_str(), 0700) < 0 && errno != EEXIST) return fail_errno("make " + path);
  struct stat info{};
  if (lstat(path.c_str(), &info) < 0) return fail_errno("stat " + path);
  if (S_ISDIR(info.st_mode) && info.st_uid == geteuid() && (info.st_mode & 0022) == 0) return {};
  return fail(Errc::denied, path + " is not a directory that only you can write in: move it away, or set COVE_HOME");
}

}  // namespace cove::image
