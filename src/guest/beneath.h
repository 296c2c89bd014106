#pragma once

// Paths from an archive, kept below one directory. Every component is opened by itself with O_NOFOLLOW below the one
// before, so no symlink, planted by the archive or there before it, leads outside.
// Rejected: openat2(RESOLVE_BENEATH): the walk is needed anyway for older kernels, and one way is easier to prove.

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/unique_fd.h"

namespace cove::guest {

// "./a//b/" is "a/b", "." is "". Absolute paths, ".." and zero bytes are refused (invalid).
Result<std::string> clean_path(std::string_view path);

// A clean path's directory and last component.
struct CleanSplit {
  std::string_view directory, name;
};
CleanSplit split_clean(std::string_view clean);

class Beneath {
 public:
  enum class Missing : unsigned char { make, refuse };

  // `root` is lent for the life of this object.
  explicit Beneath(int root) : root_(root) {}

  // The directory of a clean path, as an O_PATH descriptor, lent until the next call. Neighbours are cheap: the walk
  // goes on from the directory opened last when that is on the way.
  Result<int> open(std::string_view clean, Missing missing);

 private:
  void forget();
  Result<void> descend(std::string_view name, Missing missing);

  int root_;
  UniqueFd fd_;
  std::string path_;
};

}  // namespace cove::guest
