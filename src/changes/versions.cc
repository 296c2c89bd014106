#include "changes/versions.h"

#include <algorithm>

#include "changes/contents.h"

namespace cove::changes {

bool has_text(Kind kind) { return kind == Kind::file || kind == Kind::symlink; }
bool is_binary(const Version& version) { return version.text.find('\0') != std::string::npos; }

Result<Versions> Versions::open(const States& states, const TextLimits& limits) {
  View view{.layers = states.uppers};
  view.layers.insert(view.layers.end(), states.lower.layers.begin(), states.lower.layers.end());
  COVE_TRY(auto overlay, Overlay::open(view));
  return Versions(std::move(overlay), static_cast<LayerNumber>(states.uppers.size()), limits);
}

Result<Version> Versions::before(const Change& change) {
  if (change.what == Change::What::added || !has_text(change.kind_before)) return Version{};
  return read(change.path, uppers_, change.kind_before);
}

Result<Version> Versions::after(const Change& change) {
  if (change.what == Change::What::removed || !has_text(change.kind)) return Version{};
  return read(change.path, 0, change.kind);
}

// The sandbox may have gone on since the comparison: what is not as it was then is named only.
Result<Version> Versions::read(const std::string& path, LayerNumber from, Kind kind) {
  Version version{.there = true, .shown = false};
  COVE_TRY(const auto entry, overlay_.find(path, from));
  if (!entry || entry->kind() != kind) return version;
  auto text = read_entry(overlay_, path, *entry, std::min(limits_.most_file_bytes, left_));
  if (!text) return version;
  left_ -= std::min(left_, text->size());
  version.text = std::move(*text);
  version.shown = true;
  return version;
}

}  // namespace cove::changes
