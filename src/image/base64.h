#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cove::image {

std::string base64(std::string_view bytes);
// nullopt if it is none, or longer than `most` characters.
std::optional<std::string> from_base64(std::string_view text, std::size_t most = 65536);

}  // namespace cove::image
