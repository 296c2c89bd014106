#pragma once

// Layers as the kernel's overlay (userxattr) shows them, without mounting anything. A character device 0/0 hides what
// is below it; user.overlay.opaque=y on a directory (not on a layer's root, as in the kernel) hides what lower layers
// have in it; what is no directory hides a directory below it. Everything in a layer is taken to be made by a stranger:
// no symlink is followed, no fifo or device opened, and what vanishes while it is looked at is simply not there. Not
// followed: user.overlay.redirect and metacopy, which a mount with userxattr does not follow either.

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/unique_fd.h"

namespace cove::changes {

struct View {
  std::vector<std::string> layers;  // directories, topmost first
};

enum class Kind : unsigned char { file, directory, symlink, other };
constexpr Kind last(Kind) { return Kind::other; }
Kind kind_of(mode_t mode);
std::string_view name(Kind kind);

using LayerNumber = std::uint32_t;  // in View::layers

struct Entry {
  struct stat info{};               // of the topmost layer that has it
  std::vector<LayerNumber> layers;  // a directory: all that make it up, topmost first; anything else: one
  Kind kind() const { return kind_of(info.st_mode); }
};

// One directory of the view, opened in each of its layers.
class OpenDirectory {
 public:
  // nullopt: not there. Only layers from number `from` on count.
  Result<std::optional<Entry>> find(const std::string& name, LayerNumber from = 0) const;
  // Every name that a layer below number `end` has, sorted; also those that a whiteout hides.
  Result<std::vector<std::string>> names(LayerNumber end = UINT32_MAX) const;
  // The directory in this layer, lent; -1 if it has none.
  int in_layer(LayerNumber layer) const;

 private:
  friend class Overlay;
  std::vector<std::pair<LayerNumber, UniqueFd>> parts_;
};

class Overlay {
 public:
  static Result<Overlay> open(const View& view);

  LayerNumber size() const { return static_cast<LayerNumber>(roots_.size()); }
  // `layers` as an Entry says. Layers where the directory is gone by now are left out.
  Result<OpenDirectory> open_directory(const std::string& path, const std::vector<LayerNumber>& layers) const;
  std::vector<LayerNumber> all_layers(LayerNumber from = 0) const;
  // PATH is relative, without "." and ".."; "" is the root.
  Result<std::optional<Entry>> find(const std::string& path, LayerNumber from = 0) const;

 private:
  std::vector<UniqueFd> roots_;
};

struct NamedEntry {
  std::string name;
  Entry entry;
};

Result<std::optional<Entry>> lookup(const View& view, const std::string& path);
// Sorted by name; not_found or invalid if PATH is no directory.
Result<std::vector<NamedEntry>> list(const View& view, const std::string& path);

}  // namespace cove::changes
