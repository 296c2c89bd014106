#pragma once

// What differs between two states of the same chain of layers: `lower` is the older state, `uppers` are the layers that
// were put on top of it since. Reads only what the uppers have (and what they hide), so its time depends on the
// changes, not on the image.
//
// A change is: another kind, mode, owner, size, contents, link target or device number. Not a change: times, extended
// attributes, a file that was copied up and is the same again, a directory because of what happened in it, the root
// itself. A removed directory is listed, and so is what was below it: at most `most_below` entries of each removed
// directory, the others are counted in its `not_listed`. A directory that was replaced by something else likewise. The
// order is by path, byte for byte.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "changes/view.h"

namespace cove::changes {

struct Change {
  enum class What : unsigned char { added, changed, removed };

  std::string path;  // relative, any bytes but zero: a stranger chose it
  What what = What::added;
  Kind kind = Kind::file;         // now; what it was, if it was removed
  Kind kind_before = Kind::file;  // as `kind`, unless it was replaced by something else
  bool contents = true;           // false: the mode or the owner only
  std::uint64_t size_before = 0, size = 0;
  mode_t mode_before = 0, mode = 0;  // the lower 12 bits
  uid_t uid_before = 0, uid = 0;     // as seen inside
  gid_t gid_before = 0, gid = 0;
  std::uint64_t not_listed = 0;  // entries below a removed directory that have no line of their own

  // From count_lines (text.h).
  std::optional<std::uint64_t> lines_added, lines_removed;
  bool binary = false;
};
std::string_view name(Change::What what);

struct CompareOptions {
  std::string prefix;              // only what is this path or below it
  std::vector<std::string> globs;  // glob.h; none: everything
  uid_t uid_base = 0;              // owner inside = owner - base; owners below the base are "nobody" (65534)
  gid_t gid_base = 0;
  bool owners = true;  // false: another owner is no change
  std::uint64_t most_below = 10'000;
  std::uint64_t most_entries = 4'000'000;                       // looked at; more is an error
  std::uint64_t most_bytes = std::uint64_t{64} * (1ULL << 30);  // compared; after that, same size counts as changed
};

// `uppers` topmost first. invalid: a pattern; busy: more than `most_entries`; denied: a directory that cannot be read.
Result<std::vector<Change>> compare(const View& lower, const std::vector<std::string>& uppers,
                                    const CompareOptions& options = {});

}  // namespace cove::changes
