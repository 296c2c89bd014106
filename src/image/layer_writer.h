#pragma once

// A tree on disk becomes the tar of a layer, always in the same order: the same tree gives the same bytes.

#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace cove::image {

enum class TreeKind : unsigned char {
  overlay,  // as in the store, or the upper layer of a sandbox: whiteouts become .wh.NAME, opaque directories get
            // .wh..wh..opq, owners are those that a sandbox sees
  plain,    // any directory: owners as they are; a name that begins with .wh. is refused
};

using LayerSink = std::function<Result<void>(std::string_view bytes)>;

// Files, directories, symlinks, fifos and hard links, with modes, times and user.* xattrs; sockets and devices are left
// out. No link is followed, except that `tree` itself may be one. A file that shrinks meanwhile is an error.
Result<void> write_layer(const std::string& tree, TreeKind kind, const LayerSink& sink);

}  // namespace cove::image
