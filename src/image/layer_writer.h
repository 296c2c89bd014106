#pragma once

// A tree on disk becomes the tar of a layer, always in the same order: the same tree gives the same bytes.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace cove::image {

enum class TreeKind : unsigned char {
  overlay,  // as in the store, or the upper layer of a sandbox: whiteouts become .wh.NAME, opaque directories get
            // .wh..wh..opq, owners are those that a sandbox sees
  plain,    // any directory: owners as they are; a name that begins with .wh. is refused
  seen,     // a directory of this machine as a sandbox that stands on it sees it: the same, but the owners that a
            // sandbox has are those that it sees, what others may not read is left out (a directory is there, but
            // empty), and so is what is mounted below
};

using LayerSink = std::function<Result<void>(std::string_view bytes)>;

// A tree, and where it stands in the layer: "" or, as in "usr", one name below.
struct TreePart {
  std::string tree;
  TreeKind kind = TreeKind::overlay;
  std::string at;
};

// Files, directories, symlinks, fifos and hard links, with modes, times and user.* xattrs; sockets and devices are left
// out. No link is followed, except that `tree` itself may be one. A file that shrinks meanwhile is an error.
Result<void> write_layer(const std::string& tree, TreeKind kind, const LayerSink& sink);
// Several trees as one layer. Of a tree at "", what has the name of another one's place is left out.
Result<void> write_layer(const std::vector<TreePart>& parts, const LayerSink& sink);

}  // namespace cove::image
