#pragma once

#include "base/unique_fd.h"
#include "cli/arguments.h"

namespace cove::cli {

void define_stdin(Arguments& arguments, std::string& from);
// "": none. "-": our own stdin. Otherwise a file.
Result<UniqueFd> open_stdin(const std::string& from);

}  // namespace cove::cli
