#pragma once

// What the files of a native sandbox are made of: the image, the layers that were sealed above it, and its own layer
// on top. On disk, NAME being one of its overlays ("root"; for the image `host` also "usr" and "opt"):
//
//   $COVE_HOME/layers/ID/NAME           a sealed layer: read-only, shared by all that stand on it
//   $COVE_HOME/layers/ID.16/NAME        ... it and the 15 below it as one; ID.256, ID.4096 likewise
//   $COVE_HOME/sandboxes/S/fs/NAME      the sandbox's own, and NAME.work, which the kernel needs beside it

#include <string>
#include <vector>

#include "backend/native/plan.h"
#include "base/error.h"
#include "os/users.h"
#include "spec/spec.h"

namespace cove::native {

std::string home_of(const SandboxSpec& spec);
bool is_empty(const std::string& directory);

// The overlays of a sandbox, the root first; of its sealed layers either each, or merged as far as they are.
enum class Blocks : unsigned char { single, merged };
Result<std::vector<Layer>> find_layers(const SandboxSpec& spec, const os::Users& users, Blocks blocks = Blocks::merged);
// Merges each 16 sealed layers of a chain, each 16 of those, and each 16 of those again, so that the kernel is never
// shown more than a few dozen. Hard links: it costs directories, not files. May take its time.
Result<void> merge_sealed(const SandboxSpec& spec);
// ... of a new one: makes its own layer, unless that is kept in memory (--disk).
Result<std::vector<Layer>> make_layers(const SandboxSpec& spec, const os::Users& users);

// An exchange of a sandbox's own layers that can be taken back as long as nobody has seen it.
class LayerChange {
 public:
  // What was changed becomes the sealed layer ID; empty: nothing was changed.
  static Result<LayerChange> seal(const SandboxSpec& spec, const os::Users& users, const std::vector<Layer>& now,
                                  const std::string& id);
  // What was changed is put aside, and the layers of `spec` are what is left.
  static Result<LayerChange> rewind(const SandboxSpec& spec, const os::Users& users);

  LayerChange(LayerChange&&) noexcept = default;
  LayerChange& operator=(LayerChange&&) = delete;
  ~LayerChange();  // takes it back, unless it was kept

  const std::vector<Layer>& layers() const { return layers_; }          // as they are to be
  const std::vector<std::size_t>& changed() const { return changed_; }  // indexes
  void keep();

 private:
  struct Move {
    std::string from, to;
    bool remove = false;  // when it is kept
  };
  LayerChange() = default;
  Result<void> move(const std::string& from, const std::string& to, bool remove);
  Result<void> renew(const Layer& layer, const os::Users& users);

  std::vector<Layer> layers_;
  std::vector<std::size_t> changed_;
  std::vector<Move> moves_;
  std::vector<std::string> made_;
  std::string sealed_;
};

}  // namespace cove::native
