#pragma once

#include <string>
#include <string_view>

namespace cove {

// 16 hexadecimal digits that tell texts apart; no defence against somebody who wants two to be the same.
std::string hash_text(std::string_view text);

}  // namespace cove
