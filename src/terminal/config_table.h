#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/json_box.h"

namespace cove::terminal {

struct TableEntry {
  std::string key;
  JsonBox value;
  std::string where;  // FILE:LINE
};

// The table [terminal] of config.toml, in its order; empty if there is none.
Result<std::vector<TableEntry>> read_terminal_table(const std::string& path);

}  // namespace cove::terminal
