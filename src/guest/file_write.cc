#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <optional>

#include "base/unique_fd.h"
#include "guest/fd_io.h"
#include "guest/file_ops.h"

namespace cove::guest {
namespace {

// Where a symlink, possibly to nothing yet, leads: the name that must be replaced.
Result<std::string> follow_links(std::string path, const std::string& what) {
  constexpr int kMaxLinks = 40;  // as many as the kernel follows
  std::string link(4096, '\0');
  for (int i = 0; i < kMaxLinks; ++i) {
    const ssize_t size = readlink(path.c_str(), link.data(), link.size());
    if (size < 0 && (errno == EINVAL || errno == ENOENT)) return path;
    if (size < 0) return fail_errno(what);
    const std::string target = link.substr(0, static_cast<std::size_t>(size));
    path = target.starts_with('/') ? target : split_path(path).directory + "/" + target;
  }
  return fail(errno_error(ELOOP, what));
}

// A file that goes away again unless it is renamed in time. Where the file system can, it has no name until then, so
// that not even a killed writer leaves one behind.
class Temporary {
 public:
  explicit Temporary(int directory) : directory_(directory), name_(make_temporary_name()) {
    if (access("/proc/self/fd", X_OK) == 0) fd_.reset(openat(directory, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600));
    if (fd_) return;
    fd_.reset(openat(directory, name_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    named_ = static_cast<bool>(fd_);
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    if (named_) unlinkat(directory_, name_.c_str(), 0);
  }
  int fd() const { return fd_.get(); }
  bool rename(const std::string& name) {
    if (!named_ && !give_name()) return false;
    named_ = renameat(directory_, name_.c_str(), directory_, name.c_str()) < 0;
    return !named_;
  }

 private:
  // Not with AT_EMPTY_PATH, which needs a capability. A link cannot replace a file, hence the rename after it.
  bool give_name() {
    const std::string self = "/proc/self/fd/" + std::to_string(fd_.get());
    named_ = linkat(AT_FDCWD, self.c_str(), directory_, name_.c_str(), AT_SYMLINK_FOLLOW) == 0;
    return named_;
  }

  int directory_;
  std::string name_;
  UniqueFd fd_;
  bool named_ = false;
};

class Write {
 public:
  Write(const proto::FileRequest& request, int in_fd) : request_(request), in_(in_fd), what_("write " + request.path) {}

  Result<void> run() {
    struct stat info;
    path_ = request_.path;
    if (stat(path_.c_str(), &info) == 0)
      existing_ = info;
    else if (errno != ENOENT)
      return fail_errno(what_);
    if (existing_ && !S_ISREG(existing_->st_mode)) return in_place(in_, "read stdin");
    COVE_TRY(path_, follow_links(path_, what_));
    // A rename would get around the file's own protection.
    if (existing_ && faccessat(AT_FDCWD, path_.c_str(), W_OK, AT_EACCESS) < 0) return fail_errno(what_);
    return aside();
  }

 private:
  Result<void> aside() {
    const PathSplit split = split_path(path_);
    if (split.name.empty() || path_.ends_with('/')) return fail(errno_error(EISDIR, what_));
    const UniqueFd directory(open(split.directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!directory) return fail_errno(what_);
    Temporary temporary(directory.get());
    if (temporary.fd() < 0) return without_temporary();
    COVE_CHECK(copy_bytes({.from = in_, .to = temporary.fd(), .from_what = "read stdin", .to_what = what_}));
    if (!set_owner_and_mode(temporary.fd())) return fail_errno(what_);
    if (temporary.rename(split.name)) return {};
    // A mount point, such as /etc/hosts in a container, cannot be replaced.
    if (errno != EBUSY || !existing_ || lseek(temporary.fd(), 0, SEEK_SET) < 0) return fail_errno(what_);
    return in_place(temporary.fd(), what_);
  }

  Result<void> without_temporary() {
    const int error = errno;
    const bool closed = error == EACCES || error == EPERM || error == EROFS;
    if (existing_ && closed) return in_place(in_, "read stdin");
    return fail(errno_error(error, what_));
  }

  Result<void> in_place(int from, std::string_view from_what) {
    const UniqueFd fd(open(path_.c_str(), O_WRONLY | O_TRUNC | O_NOCTTY | O_CLOEXEC));
    if (!fd) return fail_errno(what_);
    return copy_bytes({.from = from, .to = fd.get(), .from_what = from_what, .to_what = what_});
  }

  // Set-id bits only go with the owner that they were meant for.
  bool set_owner_and_mode(int fd) const {
    if (!existing_) return fchmod(fd, request_.mode & 07777) == 0;
    const bool ours = fchown(fd, existing_->st_uid, existing_->st_gid) == 0;
    return fchmod(fd, existing_->st_mode & (ours ? 07777 : 0777)) == 0;
  }

  const proto::FileRequest& request_;
  int in_;
  std::string what_, path_;
  std::optional<struct stat> existing_;
};

}  // namespace

Result<void> write_file(const proto::FileRequest& request, int in_fd) { return Write(request, in_fd).run(); }

PathSplit split_path(const std::string& path) {
  const std::size_t end = path.find_last_not_of('/');
  if (end == std::string::npos) return {.directory = "/", .name = ""};
  const std::size_t slash = path.rfind('/', end);
  if (slash == std::string::npos) return {.directory = ".", .name = path.substr(0, end + 1)};
  const std::size_t directory_end = path.find_last_not_of('/', slash);
  const bool root = directory_end == std::string::npos;
  return {.directory = root ? "/" : path.substr(0, directory_end + 1), .name = path.substr(slash + 1, end - slash)};
}

std::string make_temporary_name() {
  unsigned long long number = 0;
  while (getrandom(&number, sizeof number, 0) != sizeof number) {}
  char text[32];
  std::snprintf(text, sizeof text, ".cove-%016llx", number);
  return text;
}

}  // namespace cove::guest
