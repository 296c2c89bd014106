#pragma once

// The larger file operations, behind files.h.

#include <string>

#include "base/error.h"
#include "proto/messages.h"

namespace cove::guest {

// The new content is written aside, under a private name in the same directory, and renamed when in_fd has ended.
// A file that exists keeps its mode and, where we may give files away, its owner; a symlink is written through.
// Written in place instead, because it cannot be replaced: a special file, a file in a directory that we may not
// change, and a mount point.
Result<void> write_file(const proto::FileRequest& request, int in_fd);

// rename(2): `target` is the new name itself. To another file system: copied aside there, renamed, then removed here.
Result<void> move_tree(const std::string& path, const std::string& target);

// As rm -r: goes on after an error, and gives back the first. Never through a symlink.
Result<void> remove_tree(const std::string& path);

// As mkdir -p.
Result<void> make_directories(const std::string& path);

// "a/b/" is {"a", "b"}, "b" is {".", "b"}, "/b" is {"/", "b"}, "/" is {"/", ""}.
struct PathSplit {
  std::string directory, name;
};
PathSplit split_path(const std::string& path);

// ".cove-" and 16 random hex digits.
std::string make_temporary_name();

}  // namespace cove::guest
