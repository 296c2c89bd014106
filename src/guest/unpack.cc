#include "guest/unpack.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>
#include <vector>

namespace cove::guest {
namespace {

struct Times {
  timespec both[2];
};
Times times_of(const TarEntry& entry) { return {{entry.mtime, entry.mtime}}; }

Result<std::pair<uid_t, gid_t>> owner_of(const TarEntry& entry) {
  constexpr std::int64_t max = std::numeric_limits<uid_t>::max() - std::int64_t{1};
  if (entry.uid < 0 || entry.gid < 0 || entry.uid > max || entry.gid > max) {
    return fail(Errc::invalid, "the archive gives an owner that cannot be");
  }
  return std::pair(static_cast<uid_t>(entry.uid), static_cast<gid_t>(entry.gid));
}

}  // namespace

Unpacker::~Unpacker() {
  if (file_) unlinkat(parent_, name_.c_str(), 0);
}

Result<void> Unpacker::begin(const TarEntry& entry) {
  COVE_TRY(path_, clean_path(entry.path));
  if (path_.empty() && entry.kind != TarKind::directory) {
    return fail(Errc::invalid, "the archive has an entry without a name");
  }
  const CleanSplit split = split_clean(path_);
  name_ = split.name;
  COVE_TRY(parent_, parents_.open(split.directory, Beneath::Missing::make));
  entry_ = entry;
  switch (entry.kind) {
    case TarKind::file: return make_file();
    case TarKind::directory: return make_directory(entry);
    case TarKind::symlink: return make_symlink(entry);
    case TarKind::hardlink: return make_hardlink(entry);
    case TarKind::fifo: return make_fifo(entry);
  }
  return {};
}

Result<void> Unpacker::data(std::string_view bytes) { return write_all(file_.get(), bytes, "write " + path_); }

Result<void> Unpacker::end() {
  if (!file_) return {};
  if (options_.keep_owner) {
    COVE_TRY(const auto owner, owner_of(entry_));
    if (fchown(file_.get(), owner.first, owner.second) < 0) return fail_errno("set the owner of " + path_);
  }
  if (fchmod(file_.get(), kept_mode(entry_)) < 0) return fail_errno("set the mode of " + path_);
  if (futimens(file_.get(), times_of(entry_).both) < 0) return fail_errno("set the time of " + path_);
  file_.reset();
  return {};
}

Result<void> Unpacker::finish() {
  // A directory that its owner may not enter must wait until everything below it, whose path is longer, is done.
  std::vector<std::string_view> closed;
  for (const auto& [path, directory] : directories_) {
    if ((directory.entry.mode & 0700) != 0700)
      closed.push_back(path);
    else
      COVE_CHECK(finish_directory(path, directory));
  }
  std::sort(closed.begin(), closed.end(), [](auto a, auto b) { return a.size() > b.size(); });
  for (const std::string_view path : closed) {
    COVE_CHECK(finish_directory(path, directories_.find(path)->second));
  }
  directories_.clear();
  return {};
}

std::uint32_t Unpacker::kept_mode(const TarEntry& entry) const {
  return entry.mode & (options_.keep_set_id ? 07777U : 01777U);
}

// Makes the name at hand; where something has it already, that is removed first.
template <class Make>
Result<void> Unpacker::replacing(Make make) {
  if (make()) return {};
  if (errno == EEXIST) {
    COVE_CHECK(remove_obstacle());
    if (make()) return {};
  }
  return fail_errno("make " + path_);
}

Result<void> Unpacker::remove_obstacle() {
  if (unlinkat(parent_, name_.c_str(), 0) == 0 || errno == ENOENT) return {};
  if (errno != EISDIR) return fail_errno("replace " + path_);
  if (unlinkat(parent_, name_.c_str(), AT_REMOVEDIR) < 0) return fail_errno("replace the directory " + path_);
  directories_.erase(path_);
  return {};
}

Result<void> Unpacker::make_file() {
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  return replacing([&] {
    const int fd = openat(parent_, name_.c_str(), flags, 0600);
    if (fd >= 0) file_.reset(fd);
    return fd >= 0;
  });
}

Result<void> Unpacker::make_directory(const TarEntry& entry) {
  struct stat info;
  const bool there =
      path_.empty() || (fstatat(parent_, name_.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode));
  if (!there) COVE_CHECK(replacing([&] { return mkdirat(parent_, name_.c_str(), 0700) == 0; }));
  // The last entry of a name counts, but the first one knows whether it was there.
  Directory& directory = directories_.try_emplace(path_, Directory{.entry = {}, .existed = there}).first->second;
  directory.entry = entry;
  directory.entry.path.clear();
  return {};
}

Result<void> Unpacker::make_symlink(const TarEntry& entry) {
  if (entry.link.find('\0') != std::string::npos) return fail(Errc::invalid, path_ + ": its link has a zero byte");
  COVE_CHECK(replacing([&] { return symlinkat(entry.link.c_str(), parent_, name_.c_str()) == 0; }));
  COVE_CHECK(set_owner_of_name(entry));
  utimensat(parent_, name_.c_str(), times_of(entry).both, AT_SYMLINK_NOFOLLOW);  // not every file system can
  return {};
}

// Without AT_SYMLINK_FOLLOW: a second name of a symlink, not of what it points to.
Result<void> Unpacker::make_hardlink(const TarEntry& entry) {
  COVE_TRY(const std::string target, clean_path(entry.link));
  if (target.empty()) return fail(Errc::invalid, path_ + ": a hard link to nothing");
  if (target == path_) return {};  // replacing it would remove what it is a link to
  const CleanSplit split = split_clean(target);
  Beneath links(root_);
  COVE_TRY(const int from, links.open(split.directory, Beneath::Missing::refuse));
  const std::string name(split.name);
  struct stat info;
  if (fstatat(from, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) < 0) return fail_errno("link " + path_ + " to " + target);
  return replacing([&] { return linkat(from, name.c_str(), parent_, name_.c_str(), 0) == 0; });
}

Result<void> Unpacker::make_fifo(const TarEntry& entry) {
  COVE_CHECK(replacing([&] { return mkfifoat(parent_, name_.c_str(), 0600) == 0; }));
  COVE_CHECK(set_owner_of_name(entry));
  // glibc goes through /proc for this; where there is none the fifo stays private.
  if (fchmodat(parent_, name_.c_str(), kept_mode(entry), AT_SYMLINK_NOFOLLOW) < 0 && errno != EOPNOTSUPP) {
    return fail_errno("set the mode of " + path_);
  }
  utimensat(parent_, name_.c_str(), times_of(entry).both, AT_SYMLINK_NOFOLLOW);
  return {};
}

Result<void> Unpacker::set_owner_of_name(const TarEntry& entry) {
  if (!options_.keep_owner) return {};
  COVE_TRY(const auto owner, owner_of(entry));
  if (fchownat(parent_, name_.c_str(), owner.first, owner.second, AT_SYMLINK_NOFOLLOW) == 0) return {};
  return fail_errno("set the owner of " + path_);
}

Result<void> Unpacker::finish_directory(std::string_view path, const Directory& directory) {
  COVE_TRY(const int fd, parents_.open(path, Beneath::Missing::refuse));
  if (options_.keep_owner) {
    COVE_TRY(const auto owner, owner_of(directory.entry));
    if (fchownat(fd, ".", owner.first, owner.second, 0) < 0) return fail_errno("set the owner of " + std::string(path));
  }
  const bool done = utimensat(fd, ".", times_of(directory.entry).both, 0) == 0 &&
                    fchmodat(fd, ".", kept_mode(directory.entry), 0) == 0;
  // One that was there before may be somebody else's, such as /tmp.
  if (done || (directory.existed && errno == EPERM)) return {};
  return fail_errno("set mode and time of directory " + std::string(path));
}

}  // namespace cove::guest
