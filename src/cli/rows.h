#pragma once

#include "cli/arguments.h"
#include "client/cove.h"
#include "record/record.h"

namespace cove::cli {

// One sandbox, or one command, as a JSON object without a newline.
std::string to_json(const record::Info& info);
std::string to_json(const Outcome& outcome);
// A JSON array with a line for each element.
std::string json_array(const std::vector<std::string>& elements);

}  // namespace cove::cli
