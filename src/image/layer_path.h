#pragma once

// Paths of a layer's entries: cleaned, judged, and walked below the layer's tree.
//
// Every component is opened by itself, O_NOFOLLOW, below the one before: no link that the archive brought leads
// outside. That is what openat2(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS) promises, on every kernel, and missing
// directories have to be made one by one anyway. The descriptors of the path opened last stay open, so a neighbour
// costs nothing.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/unique_fd.h"

namespace cove::image {

struct PathLimits {
  std::size_t bytes = 4096, depth = 256;
};

// "/a//./b/" is "a/b", "./" is "". `..`, zero bytes, and what is too long or deep are refused.
Result<std::string> clean_layer_path(std::string_view path, const PathLimits& limits);

// Of a clean path.
std::string_view directory_part(std::string_view clean);
std::string_view name_part(std::string_view clean);
// For messages: not endless.
std::string shown(std::string_view path);

class LayerPaths {
 public:
  // Makes a directory that is missing, or in place of a whiteout; told its path.
  using Make = std::function<Result<void>(int parent, const std::string& name, std::string_view path)>;

  // `root` is lent.
  LayerPaths(int root, Make make) : root_(root), make_(std::move(make)) {}

  // A clean path's descriptor, lent until the next call. Without `make`, what is missing is an error.
  Result<int> open(std::string_view clean);
  // What was a directory of that path has gone.
  void forget(std::string_view clean);

 private:
  struct Step {
    std::string name;
    UniqueFd fd;
  };
  Result<void> descend(const std::string& name, std::string_view path);

  int root_;
  Make make_;
  std::vector<Step> steps_;
};

}  // namespace cove::image
