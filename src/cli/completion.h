#pragma once

#include <string>

namespace cove::cli {

// Scripts made from the table of commands and their options; names of sandboxes come from `cove ls --names`.
std::string bash_completion();
std::string zsh_completion();

}  // namespace cove::cli
