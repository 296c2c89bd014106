#include "os/remove_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/unique_fd.h"

namespace cove::os {
namespace {

// Directories are lifted into the root of the tree before they are emptied, so that two descriptors and no recursion
// are enough for any depth.
class Remover {
 public:
  explicit Remover(int root) : root_(root) {}

  Result<void> run() {
    COVE_CHECK(empty(root_));
    while (!lifted_.empty()) {
      const std::string name = std::move(lifted_.back());
      lifted_.pop_back();
      const UniqueFd inside(openat(root_, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (!inside) return fail_errno("open a directory to remove it");
      COVE_CHECK(empty(inside.get()));
      if (unlinkat(root_, name.c_str(), AT_REMOVEDIR) < 0) return fail_errno("remove a directory");
    }
    return {};
  }

 private:
  Result<void> empty(int directory) {
    COVE_TRY(const auto names, names_in(directory));
    for (const std::string& name : names) {
      if (unlinkat(directory, name.c_str(), 0) == 0 || errno == ENOENT) continue;
      if (errno != EISDIR) return fail_errno("remove " + name);
      COVE_CHECK(lift(directory, name));
    }
    return {};
  }

  // To move a directory elsewhere one must be allowed to write in it. A new name may be taken by an empty directory,
  // which then is gone too, or by something that is in the way.
  Result<void> lift(int directory, const std::string& name) {
    if (unlinkat(directory, name.c_str(), AT_REMOVEDIR) == 0) return {};
    if (fchmodat(directory, name.c_str(), 0700, 0) < 0) return fail_errno("make " + name + " writable to remove it");
    while (true) {
      std::string fresh = ".gone-" + std::to_string(number_++);
      if (renameat(directory, name.c_str(), root_, fresh.c_str()) == 0) {
        lifted_.push_back(std::move(fresh));
        return {};
      }
      if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR)
        return fail_errno("move " + name + " to remove it");
    }
  }

  int root_;
  std::vector<std::string> lifted_;
  unsigned long number_ = 0;
};

}  // namespace

Result<std::vector<std::string>> names_in(int directory) {
  UniqueFd copy(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DIR* stream = copy ? fdopendir(copy.get()) : nullptr;
  if (stream == nullptr) return fail_errno("read a directory");
  (void)copy.release();
  std::vector<std::string> names;
  while (const dirent* entry = readdir(stream)) {
    if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0)
      names.emplace_back(entry->d_name);
  }
  closedir(stream);
  return names;
}

Result<void> remove_tree(const std::string& path) { return remove_tree_at(AT_FDCWD, path); }

Result<void> remove_tree_at(int parent, const std::string& name) {
  if (unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT) return {};
  struct stat info{};
  if (fstatat(parent, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode) &&
      (info.st_mode & 0700) != 0700) {
    fchmodat(parent, name.c_str(), 0700, 0);
  }
  const UniqueFd root(openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!root) return fail_errno("remove " + name);
  if (auto emptied = Remover(root.get()).run(); !emptied) {
    return fail(std::move(emptied).error().because("remove " + name));
  }
  if (unlinkat(parent, name.c_str(), AT_REMOVEDIR) < 0 && errno != ENOENT) return fail_errno("remove " + name);
  return {};
}

}  // namespace cove::os
