#pragma once

// Image names as text.

#include <string>
#include <string_view>

#include "base/error.h"

namespace cove::image {

// DOMAIN/PATH[:TAG][@DIGEST], all defaults written out (see normal_name in image.h).
struct NameParts {
  std::string domain, path, tag, digest;
};
Result<NameParts> split_name(std::string_view name);

// As people write it: without docker.io, library/ and :latest.
std::string short_name(std::string_view normal);
// As a file's name. Every byte that is not in [A-Za-z0-9._-] is %XX.
std::string escape_name(std::string_view normal);

}  // namespace cove::image
