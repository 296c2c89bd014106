#pragma once

#include <string>

#include "base/error.h"
#include "base/unique_fd.h"

namespace cove {

// A private directory beside the place where a copy will appear; what is still in it goes away with it.
class Scratch {
 public:
  static Result<Scratch> beside(const std::string& target);
  Scratch(Scratch&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  Scratch& operator=(Scratch&&) = delete;
  ~Scratch();

  const std::string& path() const { return path_; }
  Result<UniqueFd> open() const;

 private:
  explicit Scratch(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// Moves `from` to `to` within one file system. Two directories are merged, a file replaces a file at once, anything
// else that is in the way is an error, as with `cp -rT`.
Result<void> settle(const std::string& from, const std::string& to);

}  // namespace cove
