#pragma once

// Small files of a record, always by the descriptor of their directory.

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/unique_fd.h"

namespace cove::record {

inline constexpr std::size_t kMaxSmallFile = std::size_t{1} << 30;

// not_found if it is not there; denied if it is a symlink or no regular file.
Result<std::string> read_file_at(int directory, const std::string& name);
// Written aside and renamed: a reader sees the old file or the new one, never half of one. 0600.
Result<void> write_file_at(int directory, const std::string& name, std::string_view bytes);
// In a directory that nobody sees yet, where there is none of that name.
Result<void> write_new_file_at(int directory, const std::string& name, std::string_view bytes);
// Of this user, not writable by others, and not a symlink.
Result<UniqueFd> open_private_directory(int parent, const std::string& name, const std::string& shown);

}  // namespace cove::record
