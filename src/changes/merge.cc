#include "changes/merge.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <unordered_map>

#include "base/unique_fd.h"
#include "changes/beneath.h"
#include "os/remove_tree.h"

namespace cove::changes {
namespace {

// A directory to be made: where it is in the layers, topmost first.
struct Merge {
  std::string path;
  std::vector<std::size_t> layers;
  bool cut = false;     // it hides what is below all of these layers
  bool hidden = false;  // ... or a directory above it does
};

struct Found {
  std::size_t layer = 0;  // the topmost one
  unsigned char type = 0;
  bool open = false;  // a directory to which lower layers may add
  Merge merge;
};

struct CloseStream {
  void operator()(DIR* stream) const { closedir(stream); }
};
using Stream = std::unique_ptr<DIR, CloseStream>;

bool skipped(const char* name) { return std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0; }

unsigned char type_of(const struct stat& info) {
  if (is_whiteout(info)) return DT_WHT;
  return S_ISDIR(info.st_mode) ? DT_DIR : DT_REG;
}

// The opaque mark is our own to decide: a layer's may say less.
Result<void> copy_attributes(int from, int to, const std::string& path) {
  std::vector<char> names(65536);
  const ssize_t size = flistxattr(from, names.data(), names.size());
  for (ssize_t at = 0; at < size; at += static_cast<ssize_t>(std::strlen(&names[static_cast<std::size_t>(at)])) + 1) {
    const std::string name = &names[static_cast<std::size_t>(at)];
    if (!name.starts_with("user.") || name == "user.overlay.opaque") continue;
    std::vector<char> value(65536);
    const ssize_t n = fgetxattr(from, name.c_str(), value.data(), value.size());
    if (n >= 0 && fsetxattr(to, name.c_str(), value.data(), static_cast<std::size_t>(n), 0) < 0)
      return fail_errno("set " + name + " of " + path);
  }
  return {};
}

class Merger {
 public:
  Merger(std::vector<UniqueFd> layers, UniqueFd into) : layers_(std::move(layers)), into_(std::move(into)) {}

  Result<void> run() {
    Merge top{.path = ""};
    for (std::size_t i = 0; i < layers_.size(); ++i) top.layers.push_back(i);
    work_.push_back(std::move(top));
    while (!work_.empty()) {
      const Merge merge = std::move(work_.back());
      work_.pop_back();
      if (auto done = fill(merge); !done) return fail(std::move(done).error().because("merge " + merge.path));
    }
    return {};
  }

 private:
  using Names = std::unordered_map<std::string, Found>;

  Result<void> fill(const Merge& merge) {
    COVE_TRY(const auto target, open_in(into_, merge.path));
    Names names;
    std::vector<UniqueFd> sources;
    for (const std::size_t layer : merge.layers) {
      COVE_TRY(auto source, open_in(layers_[layer], merge.path));
      COVE_CHECK(gather(merge, layer, source.get(), names));
      sources.push_back(std::move(source));
    }
    for (auto& [name, found] : names) {
      const auto part = std::find(merge.layers.begin(), merge.layers.end(), found.layer) - merge.layers.begin();
      COVE_CHECK(
          put(name, found, sources[static_cast<std::size_t>(part)].get(), target.get(), merge.hidden || merge.cut));
    }
    return finish(merge, sources.front().get(), target.get());
  }

  static Result<UniqueFd> open_in(const UniqueFd& root, const std::string& path) {
    UniqueFd fd = open_beneath(root.get(), path, O_RDONLY | O_DIRECTORY);
    if (!fd) return fail_errno("open the directory");
    return fd;
  }

  Result<void> gather(const Merge& merge, std::size_t layer, int directory, Names& names) {
    const int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const Stream stream(copy < 0 ? nullptr : fdopendir(copy));
    if (!stream) return fail_errno("read the directory");
    while (const dirent* entry = readdir(stream.get())) {
      if (skipped(entry->d_name)) continue;
      unsigned char type = entry->d_type;
      // Only these two need another look: what a device is, and what a file system does not say.
      if (type == DT_CHR || type == DT_UNKNOWN) {
        struct stat info{};
        if (fstatat(directory, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) < 0) return fail_errno(entry->d_name);
        type = type_of(info);
      }
      COVE_CHECK(add(merge, layer, directory, entry->d_name, type, names));
    }
    return {};
  }

  static Result<void> add(const Merge& merge, std::size_t layer, int directory, const std::string& name,
                          unsigned char type, Names& names) {
    const auto [at, fresh] = names.try_emplace(name);
    Found& found = at->second;
    if (!fresh && !found.open) return {};
    if (fresh) {
      found = {.layer = layer, .type = type, .open = type == DT_DIR, .merge = {.path = joined(merge.path, name)}};
    } else if (type != DT_DIR) {
      found.open = false;  // a whiteout or a file: what is below it belongs to another directory
      found.merge.cut = true;
    }
    if (type != DT_DIR) return {};
    found.merge.layers.push_back(layer);
    const UniqueFd fd(openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd) return fail_errno("open the directory " + name);
    if (is_opaque(fd.get())) found.open = false, found.merge.cut = true;
    return {};
  }

  Result<void> put(const std::string& name, Found& found, int source, int target, bool hidden) {
    if (found.type == DT_DIR) {
      if (mkdirat(target, name.c_str(), 0700) < 0) return fail_errno("make the directory " + name);
      found.merge.hidden = hidden;
      work_.push_back(std::move(found.merge));
      return {};
    }
    if (found.type == DT_WHT && hidden) return {};  // nothing is below that it could hide
    if (linkat(source, name.c_str(), target, name.c_str(), 0) == 0) return {};
    if (found.type == DT_WHT && mknodat(target, name.c_str(), S_IFCHR, makedev(0, 0)) == 0) return {};
    return fail_errno("link " + name);
  }

  // Last, because filling a directory changes its time and needs the right to write in it.
  static Result<void> finish(const Merge& merge, int source, int target) {
    struct stat info{};
    if (fstat(source, &info) < 0) return fail_errno("look at the directory");
    COVE_CHECK(copy_attributes(source, target, merge.path));
    if (merge.cut && !merge.hidden && fsetxattr(target, "user.overlay.opaque", "y", 1, 0) < 0)
      return fail_errno("mark the directory opaque");
    struct stat made{};
    if (fstat(target, &made) < 0) return fail_errno("look at the new directory");
    if ((info.st_uid != made.st_uid || info.st_gid != made.st_gid) && fchown(target, info.st_uid, info.st_gid) < 0)
      return fail_errno("set the directory's owner");
    if (fchmod(target, info.st_mode & 07777U) < 0) return fail_errno("set the directory's mode");
    const std::array<timespec, 2> times{info.st_atim, info.st_mtim};
    if (futimens(target, times.data()) < 0) return fail_errno("set the directory's times");
    return {};
  }

  std::vector<UniqueFd> layers_;
  UniqueFd into_;
  std::vector<Merge> work_;
};

Result<void> merge_aside(const std::vector<std::string>& trees, int parent, const std::string& aside) {
  std::vector<UniqueFd> layers;
  for (const std::string& tree : trees) {
    COVE_TRY(auto layer, open_root(tree));
    layers.push_back(std::move(layer));
  }
  if (mkdirat(parent, aside.c_str(), 0700) < 0) return fail_errno("make the directory " + aside);
  UniqueFd into(openat(parent, aside.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!into) return fail_errno("open the directory " + aside);
  return Merger(std::move(layers), std::move(into)).run();
}

}  // namespace

Result<void> merge_layers(const std::vector<std::string>& trees_topmost_first, const std::string& into) {
  if (trees_topmost_first.empty()) return fail(Errc::invalid, "there are no layers to merge");
  const std::size_t slash = into.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : into.substr(0, slash + 1);
  const std::string name = into.substr(slash == std::string::npos ? 0 : slash + 1);
  if (name.empty()) return fail(Errc::invalid, into + " names no directory");
  COVE_TRY(const auto parent, open_root(directory));
  if (faccessat(parent.get(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0)
    return fail(Errc::conflict, into + " is there already");
  const std::string aside = "." + name + ".merging-" + std::to_string(getpid());
  COVE_CHECK(os::remove_tree_at(parent.get(), aside));
  auto merged = merge_aside(trees_topmost_first, parent.get(), aside);
  if (merged && renameat2(parent.get(), aside.c_str(), parent.get(), name.c_str(), RENAME_NOREPLACE) < 0)
    merged = fail_errno("rename the merged layer to " + into);
  if (!merged) (void)os::remove_tree_at(parent.get(), aside);
  return merged;
}

}  // namespace cove::changes
