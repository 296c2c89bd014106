#pragma once

// The image `host`: a view of this machine's own system, without anything that is private to it.
//
// A small directory holds what is copied (the harmless part of /etc), the symlinks of a merged /usr, empty directories,
// and the skeletons below which a sandbox may add files; /usr and /opt themselves are shown through overlays. Never in
// it: /root, /home, /var, /run, sockets, shadow files, keys, and what others may not read.

#include <sys/types.h>

#include <string>
#include <vector>

#include "backend/native/plan.h"
#include "base/error.h"

namespace cove::native {

// Its layers. The directory is made below `images` on first use, and anew when /etc has changed; everything in it
// belongs to `owner`, who is root inside.
Result<std::vector<Layer>> host_layers(const std::string& images, uid_t owner, gid_t group);

}  // namespace cove::native
