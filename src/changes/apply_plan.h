#pragma once

// Of apply: what is to be done on the host, found without writing anything.

#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "changes/apply.h"
#include "changes/glob.h"

namespace cove::changes {

inline constexpr std::string_view kAsidePrefix = ".cove-apply-";

struct Step {
  enum class Kind : unsigned char { unlink, remove_directory, make_directory, write, link, set_mode };
  Kind kind = Kind::write;
  std::string path;
  mode_t mode = 0;                  // what it gets; 9 bits
  std::optional<struct stat> seen;  // the host's entry in whose place it comes; none: there must be none
  std::string target;               // of a link
  std::string staged;               // its name aside
};

struct Plan {
  std::vector<Step> removals;  // what is below a directory before it
  std::vector<Step> makings;   // a directory before what is below it
  std::vector<Objection> conflicts, refused;
  std::vector<Written> same;  // what the host has already, though it changed: of an apply that was cut short, perhaps
};

// Whether a link's target, in a directory so many levels below DIR, is absolute or may lead out of DIR. ".." after a
// name may, as the name can be a link itself.
bool leads_out(std::string_view target, std::size_t depth);
// "" if the entry may be brought; otherwise why not.
std::string refusal(const std::string& path, const struct stat& info, const ApplyOptions& options);
// Bits that are never brought: "" or a reason to list.
std::string lost_bits(const struct stat& info);
Result<Plan> make_plan(int upper, int host, const Globs& globs, const ApplyOptions& options);

}  // namespace cove::changes
