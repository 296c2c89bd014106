#include "guest/tree_walk.h"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <vector>

#include "base/unique_fd.h"

namespace cove::guest {
namespace {

constexpr std::size_t kOpenLevels = 64;
constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

struct Level {
  UniqueFd fd;  // closed while the walk is far below
  dev_t device = 0;
  ino_t inode = 0;
  std::string name;
  std::vector<std::string> entries;
  std::size_t next = 0;
  std::size_t parent_path_size = 0;
};

class Walk {
 public:
  Walk(std::string_view verb, TreeVisitor& visitor) : verb_(verb), visitor_(visitor) {}

  Result<void> run(const std::string& root) {
    root_size_ = root.size();
    COVE_CHECK(visit(root));
    while (!levels_.empty()) {
      Level& top = levels_.back();
      if (top.next < top.entries.size())
        COVE_CHECK(visit(std::move(top.entries[top.next++])));
      else
        COVE_CHECK(leave());
    }
    return {};
  }

 private:
  std::string message() const { return verb_ + " " + path_; }
  int directory() const { return levels_.empty() ? AT_FDCWD : levels_.back().fd.get(); }
  TreeNode node(int parent, const std::string& name) const {
    std::string_view below = std::string_view(path_).substr(root_size_);
    if (below.starts_with('/')) below.remove_prefix(1);
    return {.parent = parent, .name = name, .path = path_, .below = below};
  }

  Result<void> visit(std::string name) {
    const std::size_t size = path_.size();
    if (!path_.empty() && !path_.ends_with('/')) path_ += '/';
    path_ += name;
    const std::size_t depth = levels_.size();
    COVE_CHECK(look_at(std::move(name), size));
    if (levels_.size() == depth) path_.resize(size);
    return {};
  }

  Result<void> look_at(std::string name, std::size_t parent_path_size) {
    const int parent = directory();
    struct stat info;
    if (fstatat(parent, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) < 0) {
      if (errno == ENOENT && !levels_.empty()) return {};
      return visitor_.unreadable(node(parent, name), errno_error(errno, message()));
    }
    if (!S_ISDIR(info.st_mode)) return visitor_.leaf(node(parent, name), info);
    COVE_CHECK(visitor_.enter(node(parent, name), info));
    Level level;
    if (auto opened = open_level(parent, name, level); !opened) {
      return visitor_.unreadable(node(parent, name), std::move(opened).error());
    }
    level.name = std::move(name);
    level.parent_path_size = parent_path_size;
    levels_.push_back(std::move(level));
    if (levels_.size() > kOpenLevels) levels_[levels_.size() - 1 - kOpenLevels].fd.reset();
    return {};
  }

  Result<void> open_level(int parent, const std::string& name, Level& level) {
    level.fd.reset(openat(parent, name.c_str(), kDirectoryFlags));
    struct stat info;
    if (!level.fd || fstat(level.fd.get(), &info) < 0) return fail_errno(message());
    level.device = info.st_dev;
    level.inode = info.st_ino;
    COVE_TRY(level.entries, names_in(level.fd.get(), message()));
    return {};
  }

  Result<void> leave() {
    if (levels_.size() > 1) COVE_CHECK(reopen_parent());
    const Level top = std::move(levels_.back());
    levels_.pop_back();
    COVE_CHECK(visitor_.leave(node(directory(), top.name)));
    path_.resize(top.parent_path_size);
    return {};
  }

  // By "..", which leads elsewhere if somebody moved the directory away meanwhile; hence the check.
  Result<void> reopen_parent() {
    Level& parent = levels_[levels_.size() - 2];
    if (parent.fd) return {};
    UniqueFd fd(openat(levels_.back().fd.get(), "..", kDirectoryFlags));
    struct stat info;
    if (!fd || fstat(fd.get(), &info) < 0) return fail_errno(message() + ": open its parent");
    if (info.st_dev != parent.device || info.st_ino != parent.inode) {
      return fail(Errc::conflict, message() + ": it was moved meanwhile");
    }
    parent.fd = std::move(fd);
    return {};
  }

  std::string verb_;
  TreeVisitor& visitor_;
  std::vector<Level> levels_;
  std::string path_;
  std::size_t root_size_ = 0;
};

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

}  // namespace

Result<void> walk_tree(std::string_view verb, const std::string& root, TreeVisitor& visitor) {
  return Walk(verb, visitor).run(root);
}

Result<std::vector<std::string>> names_in(int directory, std::string_view what) {
  UniqueFd copy(fcntl(directory, F_DUPFD_CLOEXEC, 0));
  if (!copy) return fail_errno(what);
  const std::unique_ptr<DIR, CloseDirectory> stream(fdopendir(copy.get()));
  if (!stream) return fail_errno(what);
  (void)copy.release();
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(stream.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return fail_errno(what);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace cove::guest
