#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace cove {

// JSON whatever bytes its strings hold: what is not UTF-8 becomes U+FFFD instead of an exception. Without an indent one
// line, without a newline at its end.
inline std::string json_text(const nlohmann::json& json, int indent = -1) {
  return json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace cove
