#pragma once

// A changed file or link before and now, as far as it can be shown.

#include <optional>
#include <string>

#include "base/error.h"
#include "changes/changes.h"
#include "changes/text.h"

namespace cove::changes {

struct Version {
  bool there = false;  // as a file or a link
  bool shown = true;   // false: too large, or gone by now
  std::string text;
};

bool is_binary(const Version& version);
// Whether it has text to show: a file or a link.
bool has_text(Kind kind);

class Versions {
 public:
  static Result<Versions> open(const States& states, const TextLimits& limits);
  Result<Version> before(const Change& change);
  Result<Version> after(const Change& change);

 private:
  Versions(Overlay overlay, LayerNumber uppers, const TextLimits& limits)
      : overlay_(std::move(overlay)), uppers_(uppers), limits_(limits), left_(limits.most_bytes) {}
  Result<Version> read(const std::string& path, LayerNumber from, Kind kind);

  Overlay overlay_;
  LayerNumber uppers_;
  TextLimits limits_;
  std::size_t left_;
};

}  // namespace cove::changes
