#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace cove {

// A stranger's JSON; discarded if it is none, or nested deeper than anything that is meant: the library copies values
// recursively, and a megabyte of brackets would take more than the stack.
nlohmann::json parse_json(std::string_view text);

// JSON whatever bytes its strings hold: what is not UTF-8 becomes U+FFFD instead of an exception. Without an indent one
// line, without a newline at its end.
std::string json_text(const nlohmann::json& json, int indent = -1);

}  // namespace cove
