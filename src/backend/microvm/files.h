#pragma once

// What is made once and used by many, in $COVE_HOME/cache/microvm: private, each thing written aside and renamed.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/deadline.h"
#include "base/error.h"
#include "base/unique_fd.h"

namespace cove::microvm {

// A name for what was made of these; 32 hex digits.
class Key {
 public:
  Key& add(std::string_view text);
  Key& add(std::uint64_t number) { return add(std::to_string(number)); }
  // Which file this is, and as of when; one that is not there counts as such.
  Key& add_file(const std::string& path);
  std::string text() const;

 private:
  std::uint64_t first_ = 1469598103934665603ULL, second_ = 14695981039346656037ULL;
};

// The directory, made if it is missing.
Result<std::string> cache_directory(const std::string& home);

Result<std::string> read_whole(const std::string& path);
// 0600.
Result<void> write_whole(const std::string& path, std::string_view bytes);

// `path` as it is, marked as used; or made by `make` at the path that it gets, which is then renamed. Of several that
// want it at once one makes it and the others wait.
using Maker = std::function<Result<void>(const std::string& aside)>;
Result<void> ensure(const std::string& path, const Maker& make, Deadline deadline);

// Of the things in a directory all but the `keep` that were used last go, and of those what nobody used for a month.
void prune(const std::string& directory, std::size_t keep);

}  // namespace cove::microvm
