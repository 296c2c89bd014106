#include "guest/pack.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <utility>

#include "base/unique_fd.h"
#include "guest/tree_walk.h"

namespace cove::guest {
namespace {

class Packer final : public TreeVisitor {
 public:
  Packer(const PackSpec& spec, TarSink& sink) : spec_(spec), sink_(sink), buffer_(new char[kIoBytes]) {}

  Result<void> enter(const TreeNode& node, const struct stat& info) override {
    if (node.below.empty()) device_ = info.st_dev;
    // What is mounted below cannot be taken along; and the copy itself may lie in there.
    if (spec_.special == PackSpec::Special::refuse && info.st_dev != device_) {
      return fail(Errc::conflict, message(node) + ": another file system is mounted there");
    }
    return whole(entry_of(node, info, TarKind::directory));
  }
  Result<void> leave(const TreeNode&) override { return {}; }
  Result<void> unreadable(const TreeNode&, Error error) override { return fail(std::move(error)); }

  Result<void> leaf(const TreeNode& node, const struct stat& info) override {
    if (info.st_nlink > 1) {
      const auto [first, fresh] = seen_.try_emplace({info.st_dev, info.st_ino}, path_of(node));
      if (!fresh) return hardlink(node, info, first->second);
    }
    if (S_ISREG(info.st_mode)) return file(node, info);
    if (S_ISLNK(info.st_mode)) return symlink(node, info);
    if (S_ISFIFO(info.st_mode)) return whole(entry_of(node, info, TarKind::fifo));
    if (spec_.special == PackSpec::Special::skip) return {};
    return fail(Errc::unsupported, message(node) + ": devices and sockets cannot be copied");
  }

 private:
  std::string message(const TreeNode& node) const { return spec_.verb + " " + node.path; }
  std::string path_of(const TreeNode& node) const {
    if (node.below.empty()) return spec_.name;
    return std::string(spec_.name).append("/").append(node.below);
  }

  TarEntry entry_of(const TreeNode& node, const struct stat& info, TarKind kind) const {
    TarEntry entry;
    entry.path = path_of(node);
    entry.kind = kind;
    entry.mode = info.st_mode & 07777;
    entry.uid = info.st_uid;
    entry.gid = info.st_gid;
    entry.mtime = info.st_mtim;
    return entry;
  }

  Result<void> whole(const TarEntry& entry) {
    COVE_CHECK(sink_.begin(entry));
    return sink_.end();
  }

  Result<void> hardlink(const TreeNode& node, const struct stat& info, const std::string& first) {
    // A device has two names and neither was packed.
    if (!S_ISREG(info.st_mode) && !S_ISLNK(info.st_mode) && !S_ISFIFO(info.st_mode)) return {};
    TarEntry entry = entry_of(node, info, TarKind::hardlink);
    entry.link = first;
    return whole(entry);
  }

  Result<void> symlink(const TreeNode& node, const struct stat& info) {
    TarEntry entry = entry_of(node, info, TarKind::symlink);
    const ssize_t size = readlinkat(node.parent, node.name.c_str(), buffer_.get(), kIoBytes);
    if (size < 0) return fail_errno(message(node));
    entry.link.assign(buffer_.get(), static_cast<std::size_t>(size));
    return whole(entry);
  }

  // O_NONBLOCK, because what was a file a moment ago may be a fifo now.
  Result<void> file(const TreeNode& node, const struct stat& seen) {
    constexpr int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    const UniqueFd fd(openat(node.parent, node.name.c_str(), flags));
    if (!fd && errno == ENOENT) {  // it vanished meanwhile, as in the walk
      seen_.erase({seen.st_dev, seen.st_ino});
      return {};
    }
    struct stat info;
    if (!fd || fstat(fd.get(), &info) < 0) return fail_errno(message(node));
    if (!S_ISREG(info.st_mode)) return fail(Errc::conflict, message(node) + ": it was replaced meanwhile");
    TarEntry entry = entry_of(node, info, TarKind::file);
    // Files of /proc say that they are empty; what fits into the buffer is their content.
    std::size_t first = 0;
    if (info.st_size == 0) {
      COVE_TRY(first, fill_buffer(fd.get(), message(node)));
    }
    entry.size = info.st_size == 0 ? first : static_cast<std::uint64_t>(info.st_size);
    COVE_CHECK(sink_.begin(entry));
    if (first > 0) COVE_CHECK(sink_.data({buffer_.get(), first}));
    COVE_CHECK(content(fd.get(), entry.size - first, node));
    return sink_.end();
  }

  Result<std::size_t> fill_buffer(int fd, const std::string& what) {
    std::size_t filled = 0;
    while (filled < kIoBytes) {
      COVE_TRY(const std::size_t got, read_some(fd, buffer_.get() + filled, kIoBytes - filled, what));
      if (got == 0) break;
      filled += got;
    }
    return filled;
  }

  Result<void> content(int fd, std::uint64_t left, const TreeNode& node) {
    while (left > 0) {
      const std::size_t want = static_cast<std::size_t>(std::min<std::uint64_t>(left, kIoBytes));
      COVE_TRY(const std::size_t got, read_some(fd, buffer_.get(), want, message(node)));
      if (got == 0) return fail(Errc::conflict, message(node) + ": it became shorter while it was read");
      COVE_CHECK(sink_.data({buffer_.get(), got}));
      left -= got;
    }
    return {};
  }

  const PackSpec& spec_;
  TarSink& sink_;
  std::unique_ptr<char[]> buffer_;
  dev_t device_ = 0;                                     // of the root
  std::map<std::pair<dev_t, ino_t>, std::string> seen_;  // files of several names: the first one
};

}  // namespace

Result<void> pack_tree(const PackSpec& spec, TarSink& sink) {
  Packer packer(spec, sink);
  return walk_tree(spec.verb, spec.path, packer);
}

}  // namespace cove::guest
