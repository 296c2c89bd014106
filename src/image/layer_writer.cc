#include "image/layer_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <map>
#include <set>
#include <vector>

#include "base/unique_fd.h"
#include "guest/tar.h"
#include "image/layer_path.h"
#include "image/layer_tree.h"
#include "os/remove_tree.h"
#include "os/users.h"

namespace cove::image {
namespace {

using guest::TarEntry;
using guest::TarKind;

constexpr std::size_t kDeepest = 400;  // each level holds a descriptor
constexpr std::uint32_t kNobody = 65534;

// What 0 and the range of a sandbox's user namespace are inside.
std::uint32_t inside(std::uint32_t id, std::uint32_t first, os::IdRange more, bool by_root) {
  if (by_root) return id >= first && id - first < os::kIdCount ? id - first : kNobody;
  if (id == first) return 0;
  return id >= more.first && id - more.first < more.count ? 1 + (id - more.first) : kNobody;
}

std::map<std::string, std::string> xattrs_of(int fd) {
  std::map<std::string, std::string> all;
  std::array<char, 65536> names{};
  const ssize_t size = flistxattr(fd, names.data(), names.size());
  for (std::size_t at = 0; size > 0 && at < static_cast<std::size_t>(size);) {
    const std::string name(names.data() + at);
    at += name.size() + 1;
    if (!name.starts_with("user.") || name.starts_with("user.overlay.") || name.find('=') != std::string::npos)
      continue;
    std::array<char, 65536> value{};
    const ssize_t length = fgetxattr(fd, name.c_str(), value.data(), value.size());
    if (length >= 0) all.emplace(name, std::string(value.data(), static_cast<std::size_t>(length)));
  }
  return all;
}

bool is_opaque(int fd) {
  char value = 0;
  return fgetxattr(fd, kOpaque, &value, 1) == 1 && value == 'y';
}

class Walk {
 public:
  explicit Walk(const LayerSink& sink) : writer_(sink) {}

  Result<void> run(const std::vector<TreePart>& parts) {
    for (const TreePart& part : parts) {
      if (!part.at.empty()) places_.insert(part.at);
    }
    for (const TreePart& part : parts) {
      kind_ = part.kind;
      const UniqueFd root(open(part.tree.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      struct stat info{};
      if (!root || fstat(root.get(), &info) < 0) return fail_errno("open " + part.tree);
      device_ = info.st_dev;
      COVE_CHECK(directory(root.get(), part.at.empty() ? "./" : part.at + "/"));
    }
    return writer_.finish();
  }

 private:
  // `path` ends with a slash.
  Result<void> directory(int fd, const std::string& path) {
    if (++depth_ > kDeepest) return fail(Errc::invalid, shown(path) + " is too deep for a layer");
    struct stat info{};
    if (fstat(fd, &info) < 0) return fail_errno("stat " + path);
    TarEntry entry = entry_of(info, path, TarKind::directory);
    entry.xattrs = xattrs_of(fd);
    COVE_CHECK(put(entry));
    if (kind_ == TreeKind::overlay && is_opaque(fd)) COVE_CHECK(put_empty(path + ".wh..wh..opq"));
    std::vector<std::string> names;
    if (!is_hidden(info)) {
      COVE_TRY(names, os::names_in(fd));
    }
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      if (path != "./")
        COVE_CHECK(member(fd, name, path + name));
      else if (!places_.contains(name))
        COVE_CHECK(member(fd, name, name));
    }
    --depth_;
    return {};
  }

  Result<void> member(int parent, const std::string& name, const std::string& path) {
    if (name.starts_with(".wh."))
      return fail(Errc::invalid, path + " cannot be in an image: names that begin with .wh. mean removed files");
    struct stat info{};
    if (fstatat(parent, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) < 0) return fail_errno("stat " + path);
    if (S_ISDIR(info.st_mode)) return enter(parent, name, path);
    if (S_ISREG(info.st_mode) && is_hidden(info)) return {};
    if (S_ISCHR(info.st_mode)) return whiteout(info, name, path);
    if (!S_ISREG(info.st_mode) && !S_ISLNK(info.st_mode) && !S_ISFIFO(info.st_mode)) return {};
    if (info.st_nlink > 1) {
      const auto [known, first] = names_.try_emplace({info.st_dev, info.st_ino}, path);
      if (!first) return hardlink(info, path, known->second);
    }
    if (S_ISREG(info.st_mode)) return file(parent, name, path);
    TarEntry entry = entry_of(info, path, S_ISLNK(info.st_mode) ? TarKind::symlink : TarKind::fifo);
    if (S_ISLNK(info.st_mode)) {
      COVE_TRY(entry.link, link_of(parent, name, path));
    }
    return put(entry);
  }

  Result<void> enter(int parent, const std::string& name, const std::string& path) {
    const UniqueFd fd(openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd && errno == EACCES && kind_ == TreeKind::seen) return {};
    if (!fd) return fail_errno("open " + path);
    return directory(fd.get(), path + "/");
  }

  Result<void> whiteout(const struct stat& info, const std::string& name, const std::string& path) {
    if (kind_ != TreeKind::overlay || info.st_rdev != makedev(0, 0)) return {};
    const std::string above = path.substr(0, path.size() - name.size());
    return put_empty(above + ".wh." + name);
  }

  Result<void> hardlink(const struct stat& info, const std::string& path, const std::string& to) {
    TarEntry entry = entry_of(info, path, TarKind::hardlink);
    entry.link = to;
    return put(entry);
  }

  Result<std::string> link_of(int parent, const std::string& name, const std::string& path) {
    std::string text(PATH_MAX, '\0');
    const ssize_t size = readlinkat(parent, name.c_str(), text.data(), text.size());
    if (size < 0) return fail_errno("read link " + path);
    text.resize(static_cast<std::size_t>(size));
    return text;
  }

  Result<void> file(int parent, const std::string& name, const std::string& path) {
    const UniqueFd fd(openat(parent, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat info{};
    if (!fd || fstat(fd.get(), &info) < 0) return fail_errno("open " + path);
    if (!S_ISREG(info.st_mode)) return fail(Errc::conflict, path + " changed while it was read");
    TarEntry entry = entry_of(info, path, TarKind::file);
    entry.size = static_cast<std::uint64_t>(info.st_size);
    entry.xattrs = xattrs_of(fd.get());
    COVE_CHECK(writer_.begin(entry));
    for (std::uint64_t left = entry.size; left > 0;) {
      const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(left, buffer_.size()));
      COVE_TRY(const std::size_t got, guest::read_some(fd.get(), buffer_.data(), want, "read " + path));
      if (got == 0) return fail(Errc::conflict, path + " became shorter while it was read");
      COVE_CHECK(writer_.data({buffer_.data(), got}));
      left -= got;
    }
    return writer_.end();
  }

  // Not for a sandbox's eyes: neither its own nor open to others, or of a file system that an overlay does not show.
  bool is_hidden(const struct stat& info) const {
    if (kind_ != TreeKind::seen) return false;
    const mode_t needed = S_ISDIR(info.st_mode) ? S_IROTH | S_IXOTH : S_IROTH;
    return info.st_dev != device_ || (info.st_uid != users_.uid && (info.st_mode & needed) != needed);
  }

  std::uint32_t seen_id(std::uint32_t id, std::uint32_t first, os::IdRange more) const {
    const std::uint32_t own = inside(id, first, more, users_.by_root);
    if (kind_ == TreeKind::overlay || own != kNobody) return own;
    return id < os::kIdCount ? id : kNobody;
  }

  TarEntry entry_of(const struct stat& info, const std::string& path, TarKind kind) const {
    TarEntry entry{.path = path, .kind = kind};
    entry.mode = info.st_mode & 07777;
    entry.uid = info.st_uid;
    entry.gid = info.st_gid;
    if (kind_ != TreeKind::plain) {
      entry.uid = seen_id(info.st_uid, users_.uid, users_.more_uids);
      entry.gid = seen_id(info.st_gid, users_.gid, users_.more_gids);
    }
    entry.mtime = info.st_mtim;
    return entry;
  }

  Result<void> put(const TarEntry& entry) {
    COVE_CHECK(writer_.begin(entry));
    return writer_.end();
  }
  // Whiteouts have no time of their own: an overlay makes them when it likes.
  Result<void> put_empty(const std::string& path) {
    return put({.path = path.starts_with("./") ? path.substr(2) : path, .mode = 0600});
  }

  TreeKind kind_ = TreeKind::overlay;  // of the tree that is being walked
  dev_t device_ = 0;                   // ... and where it is
  std::set<std::string> places_;       // of the trees that do not stand at the root
  guest::TarWriter writer_;
  os::Users users_ = os::find_users();
  std::map<std::pair<dev_t, ino_t>, std::string> names_;  // of files with several
  std::string buffer_ = std::string(guest::kIoBytes, '\0');
  std::size_t depth_ = 0;
};

}  // namespace

Result<void> write_layer(const std::string& tree, TreeKind kind, const LayerSink& sink) {
  return Walk(sink).run({{.tree = tree, .kind = kind, .at = ""}});
}

Result<void> write_layer(const std::vector<TreePart>& parts, const LayerSink& sink) { return Walk(sink).run(parts); }

}  // namespace cove::image
