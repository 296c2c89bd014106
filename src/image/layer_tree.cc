#include "image/layer_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "image/files.h"
#include "os/remove_tree.h"

namespace cove::image {
namespace {

using guest::TarEntry;
using guest::TarKind;

constexpr std::string_view kWhiteout = ".wh.", kWhiteoutOwn = ".wh..wh.", kOpaqueName = ".wh..wh..opq";
// Directories are remembered until the end; an archive could have millions with long paths.
constexpr std::size_t kMostRemembered = std::size_t{512} << 20;

struct Times {
  timespec both[2];
};
Times times_of(const timespec& mtime) { return {{mtime, mtime}}; }

bool is_kept(const std::string& xattr) { return xattr.starts_with("user.") && !xattr.starts_with("user.overlay."); }

// A file system without them (tmpfs before Linux 6.6) loses nothing that an image depends on.
bool set_xattrs(int fd, const std::map<std::string, std::string>& xattrs) {
  for (const auto& [name, value] : xattrs) {
    if (!is_kept(name)) continue;
    if (fsetxattr(fd, name.c_str(), value.data(), value.size(), 0) < 0 && errno != EOPNOTSUPP) return false;
  }
  return true;
}

}  // namespace

LayerTree::LayerTree(int root, const UnpackLimits& limits, const os::Users& users)
    : limits_(limits),
      users_(users),
      parents_(root, [this](int parent, const std::string& name,
                            std::string_view path) { return make_missing(parent, name, path); }),
      links_(root, nullptr) {
  directories_[""] = Meta{};
}

Failure LayerTree::refuse(std::string_view why) const {
  return fail(Errc::invalid, "'" + shown(path_) + "' is refused: " + std::string(why));
}

Failure LayerTree::failed(std::string_view what) const {
  const int number = errno;
  return fail(errno_error(number, std::string(what) + " '" + shown(path_) + "'"));
}

Result<void> LayerTree::check(const TarEntry& entry) const {
  if (entries_ > limits_.entries)
    return refuse("the layer has more than " + std::to_string(limits_.entries) + " entries");
  if (entry.size > limits_.bytes || file_bytes_ + entry.size > limits_.bytes)
    return refuse("the layer's files have more than " + std::to_string(limits_.bytes) + " bytes");
  const auto is_id = [](std::int64_t id) { return id >= 0 && id < std::int64_t{os::kIdCount}; };
  if (users_.by_root && (!is_id(entry.uid) || !is_id(entry.gid)))
    return refuse("its owner " + std::to_string(entry.uid) + ":" + std::to_string(entry.gid) +
                  " is beyond 65535, which no sandbox has");
  return {};
}

Result<void> LayerTree::begin(const TarEntry& entry) {
  ++entries_;
  auto clean = clean_layer_path(entry.path, {.bytes = limits_.path, .depth = limits_.depth});
  if (!clean) return fail(std::move(clean).error());
  path_ = std::move(*clean);
  COVE_CHECK(check(entry));
  name_ = name_part(path_);
  const std::string_view directory = directory_part(path_);
  if (directory.starts_with(kWhiteout) || directory.find("/.wh.") != std::string_view::npos)
    return refuse("a whiteout is no directory");
  if (path_.empty() && entry.kind != TarKind::directory) return refuse("an entry that is no directory has no name");
  meta_ = {.mode = entry.mode, .uid = entry.uid, .gid = entry.gid, .mtime = entry.mtime, .xattrs = entry.xattrs};
  COVE_TRY(parent_, parents_.open(directory));
  return make(entry);
}

Result<void> LayerTree::make(const TarEntry& entry) {
  if (name_.starts_with(kWhiteout) && entry.kind == TarKind::directory) return refuse("a whiteout is no directory");
  if (name_.starts_with(kWhiteout)) return make_whiteout(name_.substr(kWhiteout.size()));
  switch (entry.kind) {
    case TarKind::file: return make_file();
    case TarKind::directory: return make_directory(entry);
    case TarKind::symlink: return make_symlink(entry);
    case TarKind::hardlink: return make_hardlink(entry);
    case TarKind::fifo: return make_fifo(entry);
  }
  return {};
}

Result<void> LayerTree::data(std::string_view bytes) {
  if (!file_) return {};  // of a whiteout
  file_bytes_ += bytes.size();
  while (!bytes.empty()) {
    const ssize_t n = write(file_.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed("write");
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

// The owner before the mode: chown takes set-id bits away.
Result<void> LayerTree::end() {
  if (!file_) return {};
  const int fd = file_.get();
  COVE_CHECK(set_owner(fd, "", meta_.uid, meta_.gid));
  if (fchmod(fd, meta_.mode & 07777) < 0) return failed("set the mode of");
  if (!set_xattrs(fd, meta_.xattrs)) return failed("set an xattr of");
  if (futimens(fd, times_of(meta_.mtime).both) < 0) return failed("set the time of");
  file_.reset();
  return {};
}

// By descriptor if there is no name.
Result<void> LayerTree::set_owner(int fd, const char* name, std::int64_t uid, std::int64_t gid) const {
  if (!users_.by_root) return {};
  const int flags = AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH;
  const uid_t user = users_.uid + static_cast<uid_t>(uid);
  const gid_t group = users_.gid + static_cast<gid_t>(gid);
  if (fchownat(fd, name, user, group, flags) < 0) return failed("set the owner of");
  return {};
}

// Makes the name at hand; what has it already goes first.
template <class Make>
Result<void> LayerTree::replacing(Make made) {
  if (made()) return {};
  if (errno == EEXIST) {
    COVE_CHECK(remove_obstacle());
    if (made()) return {};
  }
  return failed("make");
}

Result<void> LayerTree::remove_obstacle() {
  if (unlinkat(parent_, name_.c_str(), 0) == 0 || errno == ENOENT) return {};
  if (errno != EISDIR) return failed("replace");
  parents_.forget(path_);
  links_.forget(path_);
  const std::string below = path_ + "/";
  directories_.erase(path_);
  directories_.erase(directories_.lower_bound(below), directories_.lower_bound(path_ + "0"));  // '0' follows '/'
  return os::remove_tree_at(parent_, name_);
}

Result<void> LayerTree::remember(std::string_view path, Meta meta) {
  remembered_bytes_ += path.size() + sizeof(Meta);
  for (const auto& [name, value] : meta.xattrs) remembered_bytes_ += name.size() + value.size();
  if (remembered_bytes_ > kMostRemembered) return refuse("the layer has too many directories with long paths");
  directories_[std::string(path)] = std::move(meta);
  return {};
}

Result<void> LayerTree::make_missing(int parent, const std::string& name, std::string_view path) {
  const bool was_whiteout = mkdirat(parent, name.c_str(), 0700) < 0 && errno == EEXIST;
  if (was_whiteout && (unlinkat(parent, name.c_str(), 0) < 0 || mkdirat(parent, name.c_str(), 0700) < 0))
    return failed("make a directory of");
  Meta meta{.mtime = meta_.mtime};
  if (was_whiteout) meta.xattrs[kOpaque] = "y";
  return remember(path, std::move(meta));
}

Result<void> LayerTree::make_file() {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  return replacing([&] {
    const int fd = openat(parent_, name_.c_str(), kFlags, 0600);
    if (fd >= 0) file_.reset(fd);
    return fd >= 0;
  });
}

// A directory keeps the mark that it got from a whiteout of its own name or from an opaque entry before it.
Result<void> LayerTree::make_directory(const TarEntry&) {
  std::erase_if(meta_.xattrs, [](const auto& one) { return !is_kept(one.first); });
  bool opaque = false;
  if (const auto known = directories_.find(path_); known != directories_.end()) {
    opaque = known->second.xattrs.contains(kOpaque);
  } else {
    struct stat info{};
    opaque = fstatat(parent_, name_.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISCHR(info.st_mode);
    COVE_CHECK(replacing([&] { return mkdirat(parent_, name_.c_str(), 0700) == 0; }));
  }
  if (opaque) meta_.xattrs[kOpaque] = "y";
  return remember(path_, std::exchange(meta_, {}));
}

Result<void> LayerTree::make_symlink(const TarEntry& entry) {
  if (entry.link.empty() || entry.link.size() > limits_.path || entry.link.find('\0') != std::string::npos)
    return refuse("its link is empty, too long, or has a zero byte");
  COVE_CHECK(replacing([&] { return symlinkat(entry.link.c_str(), parent_, name_.c_str()) == 0; }));
  return finish_name(entry);
}

// Without AT_SYMLINK_FOLLOW: a second name of a symlink, not of what it points to.
Result<void> LayerTree::make_hardlink(const TarEntry& entry) {
  COVE_TRY(const std::string target, clean_layer_path(entry.link, {.bytes = limits_.path, .depth = limits_.depth}));
  if (target.empty() || target == path_) return refuse("it is a hard link to the layer's root or to itself");
  if (target.starts_with(path_ + "/")) return refuse("it is a hard link to what is below itself");
  auto from = links_.open(directory_part(target));
  if (!from) return fail(std::move(from).error().because("link '" + shown(path_) + "'"));
  const std::string name(name_part(target));
  struct stat info{};
  if (fstatat(*from, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
    return refuse("it is a hard link to '" + shown(target) + "', which the layer has not brought before");
  if (S_ISCHR(info.st_mode) || S_ISDIR(info.st_mode)) return refuse("it is a hard link to a directory or a whiteout");
  return replacing([&] { return linkat(*from, name.c_str(), parent_, name_.c_str(), 0) == 0; });
}

Result<void> LayerTree::make_fifo(const TarEntry& entry) {
  COVE_CHECK(replacing([&] { return mkfifoat(parent_, name_.c_str(), 0600) == 0; }));
  COVE_CHECK(finish_name(entry));
  if (fchmodat(parent_, name_.c_str(), meta_.mode & 07777, 0) < 0) return failed("set the mode of");
  return {};
}

Result<void> LayerTree::finish_name(const TarEntry& entry) {
  COVE_CHECK(set_owner(parent_, name_.c_str(), entry.uid, entry.gid));
  if (utimensat(parent_, name_.c_str(), times_of(entry.mtime).both, AT_SYMLINK_NOFOLLOW) < 0)
    return failed("set the time of");
  return {};
}

// A whiteout speaks of the layers below only. Beside an entry of the same name it therefore means nothing, unless that
// is a directory: then what is below it must not show through.
Result<void> LayerTree::make_whiteout(const std::string& name) {
  const std::string_view directory = directory_part(path_);
  if (name_ == kOpaqueName) {
    directories_[std::string(directory)].xattrs[kOpaque] = "y";
    return {};
  }
  if (name_.starts_with(kWhiteoutOwn)) return {};
  if (name.empty() || name == "." || name == "..") return refuse("a whiteout of nothing");
  if (mknodat(parent_, name.c_str(), S_IFCHR | 0600, makedev(0, 0)) == 0) return set_owner(parent_, name.c_str(), 0, 0);
  if (errno != EEXIST) return failed("make the whiteout");
  const std::string path = directory.empty() ? name : std::string(directory) + "/" + name;
  if (const auto known = directories_.find(path); known != directories_.end()) known->second.xattrs[kOpaque] = "y";
  return {};
}

// Backwards through the sorted paths: what is below a directory comes before it, so one that its owner may not enter is
// entered for the last time before that.
Result<void> LayerTree::finish() {
  for (auto one = directories_.rbegin(); one != directories_.rend(); ++one) {
    COVE_CHECK(finish_directory(one->first, one->second));
  }
  return {};
}

Result<void> LayerTree::finish_directory(const std::string& path, const Meta& meta) {
  path_ = path;
  COVE_TRY(const int fd, parents_.open(path));
  COVE_CHECK(set_owner(fd, "", meta.uid, meta.gid));
  const auto opaque = meta.xattrs.find(kOpaque);
  if (opaque != meta.xattrs.end() && fsetxattr(fd, kOpaque, "y", 1, 0) < 0)
    return failed("mark as opaque (the file system needs user xattrs)");
  if (!set_xattrs(fd, meta.xattrs)) return failed("set an xattr of");
  if (fchmod(fd, meta.mode & 07777) < 0) return failed("set the mode of");
  if (futimens(fd, times_of(meta.mtime).both) < 0) return failed("set the time of");
  return {};
}

}  // namespace cove::image
