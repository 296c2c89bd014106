#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>

#include "base/unique_fd.h"
#include "guest/file_ops.h"
#include "guest/pack.h"
#include "guest/tree_walk.h"
#include "guest/unpack.h"

namespace cove::guest {
namespace {

class Remover final : public TreeVisitor {
 public:
  Result<void> enter(const TreeNode&, const struct stat&) override { return {}; }
  Result<void> leaf(const TreeNode& node, const struct stat&) override { return unlink(node, 0); }
  Result<void> leave(const TreeNode& node) override { return unlink(node, AT_REMOVEDIR); }
  // An empty directory can go without being read.
  Result<void> unreadable(const TreeNode& node, Error error) override {
    if (unlinkat(node.parent, node.name.c_str(), AT_REMOVEDIR) < 0) note(std::move(error));
    return {};
  }
  Result<void> result() && {
    if (first_) return fail(std::move(*first_));
    return {};
  }

 private:
  Result<void> unlink(const TreeNode& node, int flags) {
    if (unlinkat(node.parent, node.name.c_str(), flags) < 0 && errno != ENOENT) {
      note(errno_error(errno, "remove " + node.path));
    }
    return {};
  }
  void note(Error error) {
    if (!first_) first_ = std::move(error);
  }

  std::optional<Error> first_;
};

// As root everything stays what it was; anybody else gets copies of his own, without set-id bits.
Unpacker::Options copy_options() {
  const bool root = geteuid() == 0;
  return {.keep_owner = root, .keep_set_id = root};
}

Result<void> copy_aside(const std::string& path, int directory, const std::string& name) {
  Unpacker unpacker(directory, copy_options());
  const PackSpec spec{.path = path, .name = name, .verb = "move", .special = PackSpec::Special::refuse};
  COVE_CHECK(pack_tree(spec, unpacker));
  return unpacker.finish();
}

Result<void> move_by_copy(const std::string& path, const std::string& target, const std::string& what) {
  const PathSplit split = split_path(target);
  const UniqueFd directory(open(split.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return fail_errno(what);
  const std::string name = make_temporary_name();
  auto done = copy_aside(path, directory.get(), name);
  if (done && renameat(directory.get(), name.c_str(), directory.get(), split.name.c_str()) < 0) done = fail_errno(what);
  if (done) return remove_tree(path);
  (void)remove_tree(split.directory + "/" + name);
  return fail(std::move(done).error());
}

bool is_directory(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

}  // namespace

Result<void> remove_tree(const std::string& path) {
  const PathSplit split = split_path(path);
  if (split.name.empty() || split.name == "." || split.name == "..") {
    return fail(Errc::invalid, "remove " + path + ": refused, name the directory itself");
  }
  Remover remover;
  // Without slashes at the end, which would lead through a symlink.
  COVE_CHECK(walk_tree("remove", path.substr(0, path.find_last_not_of('/') + 1), remover));
  return std::move(remover).result();
}

Result<void> move_tree(const std::string& path, const std::string& target) {
  const std::string what = "move " + path + " to " + target;
  if (rename(path.c_str(), target.c_str()) == 0) return {};
  if (errno != EXDEV) return fail_errno(what);
  return move_by_copy(path, target, what);
}

Result<void> make_directories(const std::string& path) {
  for (std::size_t at = 0; at < path.size();) {
    at = std::min(path.find('/', at + 1), path.size());
    const std::string part = path.substr(0, at);
    if (mkdir(part.c_str(), 0777) == 0) continue;
    const int error = errno;
    if (!is_directory(part)) return fail(errno_error(error, "make directory " + part));
  }
  return {};
}

}  // namespace cove::guest
