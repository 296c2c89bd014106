#pragma once

// Where instances keep what is too much for a home directory: images, changes, temporary files. $COVE_SCRATCH_DIR; else
// /scratch/$USER/cove where that can be had, as on many clusters; else $COVE_HOME/apptainer.
//
//   images/HASH.sif            built once of an address, under the lock images/HASH.lock
//   sandboxes/cove-HASH-NAME/  of one sandbox: overlay, work, workspace, home

#include <optional>
#include <string>

#include "backend/engine/program.h"
#include "base/deadline.h"
#include "base/error.h"

namespace cove::apptainer {

class Scratch {
 public:
  // Made for its owner alone; what belongs to somebody else is refused. `home` is COVE_HOME.
  static Result<Scratch> choose(const std::string& home);

  // The same, if it is there.
  static std::optional<Scratch> find(const std::string& home);

  const std::string& path() const { return path_; }
  std::string sandbox(const std::string& instance) const { return path_ + "/sandboxes/" + instance; }

  // The .sif file of an address: from the cache, or built now. `pull` is missing, always or never.
  Result<std::string> image(const engine::Program& program, const std::string& address, const std::string& pull) const;

 private:
  explicit Scratch(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

// Makes it, or finds it as a directory of this user's own.
Result<void> make_own_directory(const std::string& path);

}  // namespace cove::apptainer
