#pragma once

// Unpacks one layer into the store.
//
// Guarantees, whatever the archive says: nothing is made outside of the layer's own tree (every path is walked without
// following a link); the layer is visible only when all of it is there and its digest is the expected one; no device,
// no file capability and no xattr that an overlay takes for its own gets in; limits bound bytes, entries, depth and
// ratio.
//
// What becomes of entries:
//   file, directory, symlink, fifo   made; the last one of a name counts, with mode (set-id bits too), mtime, xattrs
//   hard link                        only to what this layer has brought before
//   .wh.NAME, .wh..wh..opq           whiteout, opaque directory; other .wh..wh.* (aufs' own) are left out
//   device                           left out: images made of a whole system have a /dev, which every sandbox covers
//                                    with its own; to refuse them would refuse those images
//   absolute path                    taken below the tree, as other engines do; `..` is refused
//   xattr                            user.* is kept but for user.overlay.*; all others are dropped
//   owner                            as root: shifted by os::Users, beyond 65535 refused; otherwise it is the caller's

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/error.h"
#include "base/unique_fd.h"
#include "image/store.h"

namespace cove::image {

// Bytes of a tar: plain, gzip or zstd, which their beginning tells. 0 is the end. Called from one thread of the
// reader's.
class LayerSource {
 public:
  virtual ~LayerSource() = default;
  virtual Result<std::size_t> read(std::span<std::byte> room) = 0;
};
// From where the descriptor stands, at most `bytes`.
std::unique_ptr<LayerSource> source_of_fd(int fd, std::uint64_t bytes = UINT64_MAX);

struct UnpackLimits {
  std::uint64_t bytes = std::uint64_t{64} << 30;  // of the tar, uncompressed
  std::uint64_t entries = 4'000'000;
  std::size_t path = 4096;  // bytes of a path
  std::size_t depth = 256;  // components
  int window_log = 27;      // of zstd: 128 MiB of memory
  // Uncompressed bytes per compressed one, once more than `free_bytes` have come: zeros in gzip are 1000 : 1.
  std::uint64_t ratio = 400, free_bytes = std::uint64_t{1} << 30;
};

struct UnpackProgress {
  std::uint64_t read_bytes = 0;  // of the source
  std::uint64_t bytes = 0;       // of the tar
  std::uint64_t entries = 0;
};

struct AddLayer {
  std::optional<std::string> expected_diff_id;  // without one, whatever comes becomes the layer
  UnpackLimits limits;
  std::function<void(const UnpackProgress&)> progress;  // from the calling thread, once per piece
};

// A layer that is there already is not read again (if expected_diff_id is given), or is read and found to be there. Two
// processes adding the same one share the work: the second waits. On failure nothing of it is visible.
Result<Layer> add_layer(Store& store, LayerSource& source, const AddLayer& how = {});

}  // namespace cove::image
