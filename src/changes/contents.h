#pragma once

// What an entry of a view holds, read with limits.

#include <cstdint>
#include <string>

#include "base/error.h"
#include "changes/view.h"

namespace cove::changes {

// Whether two regular files have the same bytes. Reads on from where the descriptors are. Takes what it read from the
// budget; a file that is too large for the rest of it counts as different.
bool same_bytes(int a, int b, std::uint64_t size, std::uint64_t& budget);

// A file's bytes, or a link's target. not_found: it has vanished; busy: more than `most` bytes.
Result<std::string> read_entry(const Overlay& overlay, const std::string& path, const Entry& entry, std::size_t most);

}  // namespace cove::changes
