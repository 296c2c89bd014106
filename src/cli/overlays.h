#pragma once

// What a sandbox's files are made of, as the two states that a diff is about.

#include <set>
#include <string>
#include <vector>

#include "changes/text.h"
#include "record/record.h"

namespace cove::cli {

struct Overlaid {
  std::string below;  // where it is in the sandbox: "" or "usr/"
  changes::States states;
  bool of_host = false;          // a copy of a host directory
  std::set<std::string> places;  // made for mounts: that they are there is nobody's change
};

// Of all changes since `layers` of its sealed layers: those above, and what is not sealed yet. `until` leaves out all
// above so many, and what is not sealed.
Result<std::vector<Overlaid>> overlays_of(const record::Info& info, std::size_t layers,
                                          std::size_t until = static_cast<std::size_t>(-1));

struct Found {
  Overlaid where;
  std::vector<changes::Change> changes;
};
// What changed, overlay by overlay; those without changes are left out. `path` is absolute, or "" for everything.
Result<std::vector<Found>> find_changes(const std::vector<Overlaid>& overlays, const std::string& path,
                                        const std::vector<std::string>& globs);

}  // namespace cove::cli
