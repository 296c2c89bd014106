#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"

namespace cove::terminal {

struct TableEntry {
  std::string key;
  nlohmann::json value;
  std::string where;  // FILE:LINE
};

// The table [terminal] of config.toml, in its order; empty if there is none.
Result<std::vector<TableEntry>> read_terminal_table(const std::string& path);

}  // namespace cove::terminal
