#pragma once

#include <memory>
#include <string_view>

#include "image/layer_reader.h"

namespace cove::image {

// The bytes of a source, uncompressed if their beginning says that they are gzip or zstd.
class Decompressor {
 public:
  virtual ~Decompressor() = default;
  // 0 is the end; a compressed stream that just stops, or goes on with something else, is an error.
  virtual Result<std::size_t> read(std::span<std::byte> room) = 0;
  virtual std::uint64_t read_bytes() const = 0;  // of the source, so far
  virtual std::string_view media_type() const = 0;
};

// Reads the first bytes. `source` is lent. A zstd stream gets at most 2 to the power of `window_log` bytes of memory.
Result<std::unique_ptr<Decompressor>> make_decompressor(LayerSource& source,
                                                        int window_log = UnpackLimits{}.window_log);

}  // namespace cove::image
