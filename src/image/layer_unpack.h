#pragma once

// A layer's bytes become a tree; the part of add_layer that knows no store.

#include "image/layer_reader.h"

namespace cove::image {

struct Unpacked {
  std::string diff_id;
  std::uint64_t file_bytes = 0, entries = 0;
  std::string media_type;
};

// Into `tree`, an empty directory that nobody else can reach. After an error it holds whatever came until then.
Result<Unpacked> unpack_layer(int tree, LayerSource& source, const UnpackLimits& limits,
                              const std::function<void(const UnpackProgress&)>& progress);

}  // namespace cove::image
