#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace cove {

// An option of some backends only. A backend lists its own in a table in its folder (Traits::options); --KEY of the
// command line, COVE_KEY, the key in config.toml, JSON, spec.json and `cove inspect` follow from that.
struct BackendOption {
  std::string_view key;
  std::string_view metavar;  // "": a switch, which is "true" when it is given
  std::string_view help;
  // Whether a value makes sense at all; the backend looks at it again when it starts.
  Result<void> (*check)(const std::string& value) = nullptr;

  bool is_switch() const { return metavar.empty(); }
};

}  // namespace cove
