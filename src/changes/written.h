#pragma once

// What an apply wrote on the host, remembered so that the next one does not take it for somebody else's change.

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace cove::changes {

struct Written {
  std::string path;
  std::uint64_t ino = 0, size = 0;
  timespec mtime{}, ctime{};

  static Written of(std::string path, const struct stat& info);
  bool is(const struct stat& info) const;
};

// [{"path","ino","size","mtime":[s,ns],"ctime":[s,ns]}]; paths percent-encoded, so that any bytes survive.
std::string to_json(const std::vector<Written>& written);
// invalid: another shape, or more than four million.
Result<std::vector<Written>> written_from_json(const std::string& text);

}  // namespace cove::changes
