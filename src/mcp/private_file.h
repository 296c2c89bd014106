#pragma once

#include <optional>
#include <string>

#include "base/error.h"

namespace cove::mcp {

// A file of at most 16 MiB; nullopt: there is none.
Result<std::optional<std::string>> read_if_there(const std::string& path);

// Writes it aside and renames it, so that it is whole at any time. A link stays one. Directories that are missing are
// made. It gets the mode of the file `like`, or 0600 if there is none.
Result<void> replace_file(const std::string& path, const std::string& text, const std::string& like);

}  // namespace cove::mcp
