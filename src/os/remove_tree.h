#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace cove::os {

// All names in a directory but . and ..
Result<std::vector<std::string>> names_in(int directory);

// Removes a directory that strangers have filled, and everything in it: of any depth, also where it cannot be read, and
// never through a symlink (one in its place is removed itself). Nothing may run in it any more. One that is not there
// is fine.
Result<void> remove_tree(const std::string& path);
Result<void> remove_tree_at(int parent, const std::string& name);
// The same, also where files belong to users of the caller's range in /etc/subuid: then from inside a user namespace.
Result<void> remove_mapped_tree_at(int parent, const std::string& name);

}  // namespace cove::os
