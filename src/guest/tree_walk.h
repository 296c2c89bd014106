#pragma once

// Goes through a tree by descriptors, never through a symlink, with a bounded number of them and no recursion, so that
// neither PATH_MAX nor the stack nor the limit of open files bounds the depth.

#include <sys/stat.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace cove::guest {

struct TreeNode {
  int parent;               // its directory, lent
  const std::string& name;  // in there
  const std::string& path;  // for messages
  std::string_view below;   // the path from the root of the walk on; "" for the root
};

// An error of any of these ends the walk.
class TreeVisitor {
 public:
  virtual ~TreeVisitor() = default;
  virtual Result<void> enter(const TreeNode& directory, const struct stat& info) = 0;  // before its entries
  virtual Result<void> leaf(const TreeNode& node, const struct stat& info) = 0;        // whatever is not a directory
  virtual Result<void> leave(const TreeNode& directory) = 0;                           // after its entries
  virtual Result<void> unreadable(const TreeNode& node, Error error) = 0;  // it is passed over if this returns no error
};

// Entries come sorted by name; those that vanish meanwhile are passed over. `verb` begins the error messages.
Result<void> walk_tree(std::string_view verb, const std::string& root, TreeVisitor& visitor);

// The names in a directory, sorted, without "." and "..".
Result<std::vector<std::string>> names_in(int directory, std::string_view what);

}  // namespace cove::guest
