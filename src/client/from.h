#pragma once

#include <string>

#include "base/error.h"
#include "record/snapshots.h"
#include "spec/spec.h"

namespace cove {

// Completes a spec that names a snapshot (`from`): its image, layers, directory and variables, where the spec has none
// of its own.
Result<void> stand_on_snapshot(SandboxSpec& spec);
// Its variables only, and for those that are forwarded the values that they have here and now.
void take_environment(SandboxSpec& spec, const record::Snapshot& snapshot);

// A tag for a snapshot that goes when this does: what was made from it stands on the same layers.
class PassingSnapshot {
 public:
  PassingSnapshot();
  PassingSnapshot(const PassingSnapshot&) = delete;
  PassingSnapshot& operator=(const PassingSnapshot&) = delete;
  ~PassingSnapshot();
  const std::string& tag() const { return tag_; }

 private:
  std::string tag_;
};

}  // namespace cove
