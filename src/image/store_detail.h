#pragma once

// What the parts of the store share.

#include <string>
#include <vector>

#include "base/error.h"
#include "image/store.h"

namespace cove::image {

inline constexpr std::size_t kMostImageFile = std::size_t{64} << 20;

Result<std::vector<std::string>> names_below(const std::string& directory);

std::string to_json(const Layer& layer);
Result<Layer> layer_from_json(std::string_view text);

// Where several layers, bottom first, are or would be as one; and its list of them.
std::string merged_directory(const std::string& images, const std::vector<std::string>& diff_ids);
inline constexpr const char* kMergedList = "layers";

}  // namespace cove::image
