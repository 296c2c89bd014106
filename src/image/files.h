#pragma once

// Small files of the store.

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/unique_fd.h"

namespace cove::image {

// not_found if it is not there. A link or anything but a regular file is refused.
Result<std::string> read_small_file(const std::string& path, std::size_t most_bytes);
// Written aside, synced and renamed, the directory synced too: after a crash the old file is there or the new one.
Result<void> replace_file(const std::string& directory, const std::string& name, std::string_view bytes);
Result<void> sync_directory(const std::string& path);
// Made if missing; refused where it is a link or others could write in it.
Result<void> make_private_directory(const std::string& path);
// The whole of it.
Result<void> write_bytes(int fd, std::string_view bytes, const std::string& what);

}  // namespace cove::image
