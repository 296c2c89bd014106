#pragma once

// Files of a tree that strangers have filled and may still be changing. No symlink is followed anywhere below the root.

#include <fcntl.h>
#include <sys/stat.h>

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/unique_fd.h"

namespace cove::changes {

// Longer paths are not looked at: each is resolved from its root in one call, so that depth costs no descriptors.
inline constexpr std::size_t kMostPathBytes = 4095;

enum class Mounts : unsigned char { cross, stay };

// PATH below the root ("" is the root itself). On failure it is empty and errno says why: ELOOP or ENOTDIR for a link
// on the way, EXDEV for a way out of the root (or, with `stay`, into another file system). O_NOFOLLOW and O_CLOEXEC are
// implied.
UniqueFd open_beneath(int root, const std::string& path, int flags, Mounts mounts = Mounts::cross);
// Opened for reading only if it is a regular file: a fifo or a device is never touched (errno is EINVAL then).
UniqueFd open_regular(int directory, const std::string& name);
Result<UniqueFd> open_root(const std::string& path);
// Its target, at most 4095 bytes.
Result<std::string> read_link_at(int directory, const std::string& name);

// "a/b" of "a" and "b", "b" of "" and "b".
std::string joined(std::string_view directory, std::string_view name);
// "a" of "a/b", "" of "b"; and "b".
std::string parent_of(std::string_view path);
std::string name_of(std::string_view path);

// As overlayfs with userxattr has it.
bool is_whiteout(const struct stat& info);
bool is_opaque(int directory);
// Whether the kernel copied it up, so that the lower layer had it, under this name or another. The mark says no more:
// it has no handle of the file where the overlay was mounted in a user namespace.
bool was_copied_up(int fd);

}  // namespace cove::changes
