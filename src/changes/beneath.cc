#include "changes/beneath.h"

#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>

namespace cove::changes {
namespace {

std::atomic<bool> old_kernel{false};

UniqueFd in_one_call(int root, const std::string& path, int flags, Mounts mounts) {
  open_how how{};
  how.flags = static_cast<unsigned long long>(flags) | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  if (mounts == Mounts::stay) how.resolve |= RESOLVE_NO_XDEV;
  // EAGAIN: something was renamed meanwhile and the kernel could not be sure; a stranger may do that for ever.
  for (int attempt = 0; attempt < 100; ++attempt) {
    const long fd = syscall(SYS_openat2, root, path.c_str(), &how, sizeof(how));
    if (fd >= 0 || errno != EAGAIN) return UniqueFd(static_cast<int>(fd));
  }
  return UniqueFd();
}

bool same_device(int fd, dev_t device) {
  struct stat info{};
  if (fstat(fd, &info) < 0) return false;
  if (info.st_dev == device) return true;
  return errno = EXDEV, false;
}

// Before Linux 5.6, and where a filter answers ENOSYS: every component by itself.
UniqueFd step_by_step(int root, const std::string& path, int flags, Mounts mounts) {
  struct stat top{};
  if (fstat(root, &top) < 0) return UniqueFd();
  UniqueFd at;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string name = path.substr(begin, end - begin);
    begin = end + 1;
    if (name.empty() || name == "..") return errno = EXDEV, UniqueFd();
    const bool last = begin > path.size();
    const int how = last ? flags : O_PATH | O_DIRECTORY;
    UniqueFd next(openat(at ? at.get() : root, name.c_str(), how | O_NOFOLLOW | O_CLOEXEC));
    if (!next) return UniqueFd();
    if (mounts == Mounts::stay && !same_device(next.get(), top.st_dev)) return UniqueFd();
    at = std::move(next);
  }
  return at;
}

}  // namespace

UniqueFd open_beneath(int root, const std::string& path, int flags, Mounts mounts) {
  const std::string shown = path.empty() ? "." : path;
  if (shown.size() > kMostPathBytes) return errno = ENAMETOOLONG, UniqueFd();
  if (!old_kernel) {
    UniqueFd fd = in_one_call(root, shown, flags, mounts);
    if (fd || errno != ENOSYS) return fd;
    old_kernel = true;
  }
  return step_by_step(root, shown, flags, mounts);
}

UniqueFd open_regular(int directory, const std::string& name) {
  // Looked at before it is opened: opening a device can have effects, O_NONBLOCK or not.
  const UniqueFd handle(openat(directory, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat info{};
  if (!handle || fstat(handle.get(), &info) < 0) return UniqueFd();
  if (!S_ISREG(info.st_mode)) return errno = EINVAL, UniqueFd();
  UniqueFd fd(openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat opened{};
  if (!fd || fstat(fd.get(), &opened) < 0) return UniqueFd();
  if (!S_ISREG(opened.st_mode)) return errno = EINVAL, UniqueFd();
  return fd;
}

Result<UniqueFd> open_root(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail_errno("open the directory " + path);
  return fd;
}

Result<std::string> read_link_at(int directory, const std::string& name) {
  std::array<char, kMostPathBytes + 1> target{};
  const ssize_t n = readlinkat(directory, name.c_str(), target.data(), target.size());
  if (n < 0) return fail_errno("read the link " + name);
  return std::string(target.data(), static_cast<std::size_t>(n));
}

std::string joined(std::string_view directory, std::string_view name) {
  std::string path(directory);
  if (!path.empty()) path += '/';
  return path.append(name);
}

std::string parent_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? "" : std::string(path.substr(0, slash));
}

std::string name_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

bool is_whiteout(const struct stat& info) { return S_ISCHR(info.st_mode) && info.st_rdev == makedev(0, 0); }

bool is_opaque(int directory) {
  char value = 0;
  return fgetxattr(directory, "user.overlay.opaque", &value, 1) == 1 && value == 'y';
}

bool was_copied_up(int fd) { return fgetxattr(fd, "user.overlay.origin", nullptr, 0) >= 0; }

}  // namespace cove::changes
