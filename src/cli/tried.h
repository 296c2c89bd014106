#pragma once

#include <string>
#include <vector>

#include "selftest/runner.h"

namespace cove::cli {

// {"backend", "attempts": [{"name", "group", "result", "detail"}]}
std::string to_json(const std::string& backend, const std::vector<selftest::Tried>& all);

}  // namespace cove::cli
