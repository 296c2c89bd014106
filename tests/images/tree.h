#pragma once

// File trees, compared by what anybody could see of them.

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace cove::image_tests {

// Path -> type, mode, owner (less `shift`), and by its type: digest of the contents, time and which names are links to
// the same file; the target; user xattrs.
using Tree = std::map<std::string, std::string>;
Tree read_tree(const std::string& root, uid_t shift);

// The same of an overlay of these directories, topmost first, mounted where nobody else sees it. Needs root.
Tree read_overlay(const std::vector<std::string>& lowers, uid_t shift, const std::string& scratch);

// One line for each path that is not the same; "" if there is none.
std::string difference(const Tree& ours, const Tree& theirs);

}  // namespace cove::image_tests
