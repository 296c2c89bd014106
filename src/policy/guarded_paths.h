#pragma once

// What a word of a command means as a path, and whether this machine can live without it.

#include <string>
#include <string_view>
#include <vector>

#include "policy/shell_syntax.h"

namespace cove::policy {

// Where relative paths and `~` lead; "" is not known.
struct Whereabouts {
  std::string home;
  std::string cwd;
};

// The names of an absolute path; "." and ".." are followed without looking at the disk. Bytes that are no glob are
// escaped by '\', so that every name is a pattern for glob_match().
using PathPattern = std::vector<std::string>;

// Every path that the word may mean; those that only a running shell knows are left out.
std::vector<PathPattern> paths_of(const Word& word, const Script& script, const Whereabouts& where);

enum class Guarded : unsigned char {
  none,
  root,    // / or everything in it
  system,  // a directory without which the machine does not work, or everything in it
  home,    // somebody's home directory, or everything in it
};
Guarded guarded(const PathPattern& path, const Whereabouts& where);

// A disk, a partition, the machine's memory.
bool is_raw_device(const PathPattern& path);
// A file without which nobody can log in or the machine does not start.
bool is_critical_file(const PathPattern& path);

}  // namespace cove::policy
