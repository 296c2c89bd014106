#pragma once

// The tar around an image's files: where each one begins. Contents are read when they are asked for.

#include <map>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/unique_fd.h"
#include "image/layer_reader.h"
#include "image/store.h"

namespace cove::image {

class OuterArchive {
 public:
  // `fd` is lent while this object lives, and read with pread if it is a plain tar in a regular file.
  static Result<OuterArchive> open(const Store& store, int fd, const UnpackLimits& limits);

  bool has(const std::string& path) const { return find(path) != nullptr; }
  // The whole of a small file (at most 4 MiB).
  Result<std::string> text(const std::string& path) const;
  // A file of any size. Lives no longer than this object.
  Result<std::unique_ptr<LayerSource>> layer(const std::string& path) const;

  struct Member {
    std::uint64_t offset = 0, size = 0;
    std::string link;  // of a symlink: the clean path that it names
  };

 private:
  const Member* find(const std::string& path) const;
  Result<const Member*> need(const std::string& path) const;

  UniqueFd own_;
  int fd_ = -1;
  std::map<std::string, Member> members_;  // by clean path
};

}  // namespace cove::image
