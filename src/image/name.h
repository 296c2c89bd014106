#pragma once

// Image names as text: the forms that people and files have of the one in image.h. What a name is made of is told by
// reference.h.

#include <string>
#include <string_view>

namespace cove::image {

// As people write it: without docker.io, library/ and :latest.
std::string short_name(std::string_view normal);
// As a file's name. Every byte that is not in [A-Za-z0-9._-] is %XX.
std::string escape_name(std::string_view normal);

}  // namespace cove::image
