#pragma once

#include <string>

#include "guest/tar.h"

namespace cove::guest {

struct PackSpec {
  enum class Special : unsigned char { skip, refuse };  // devices, sockets; refuse: mount points too

  std::string path;  // a symlink is packed as one, unless a slash follows
  std::string name;  // what the entries call it: `name`, `name/a`, ...
  std::string verb = "pack";
  Special special = Special::skip;
};

// Gives a file or a tree to the sink. Hard links within it stay hard links. A file that shrinks while it is read is an
// error (conflict), one that grows is cut at the size it had.
Result<void> pack_tree(const PackSpec& spec, TarSink& sink);

}  // namespace cove::guest
