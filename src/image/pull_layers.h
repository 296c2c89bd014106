#pragma once

#include "image/progress.h"
#include "image/registry.h"
#include "image/store.h"

namespace cove::image {

struct WantedLayer {
  Descriptor blob;
  std::string diff_id;
};

// Several are fetched at a time, one is unpacked meanwhile. The first error ends all; what has come is kept.
// The caller holds the store.
Result<void> pull_layers(Store& store, const Registry& registry, const std::vector<WantedLayer>& layers,
                         std::size_t parallel, Progress& progress, const std::stop_token& stop);

}  // namespace cove::image
