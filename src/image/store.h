#pragma once

// The images on this machine, in $COVE_HOME/images (0700; the `host-*` entries there belong to the image `host`):
//
//   layers/<hex>/tree         a layer, unpacked, ready as a lower layer of an overlay with `userxattr`:
//                             a whiteout is a character device 0/0, an opaque directory has user.overlay.opaque=y
//   layers/<hex>/layer.json   see Layer
//   merged/<hex>/tree         several layers as one, where an image has more than kMostLowers
//   names/<escaped>.json      one image
//   downloads/<hex>.part      a blob that is being fetched
//   locks/...                 held while something is fetched, unpacked or pruned
//
// Everything is there or not there: it is written aside, synced and renamed. A process that dies leaves `.new-*`, which
// nobody looks at and prune() removes. Objects of this class hold no state; any number of processes may use one store.

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/unique_fd.h"
#include "image/image.h"

namespace cove::image {

// What an overlay takes is limited by the kernel (500 lower layers) and by the page of mount options.
inline constexpr std::size_t kMostLowers = 64;

struct Layer {
  std::string diff_id;
  std::uint64_t size = 0;     // sum of the files' sizes
  std::uint64_t entries = 0;  // in the archive
  std::string media_type;     // of what it was unpacked from
};

struct Pruned {
  std::vector<std::string> layers;  // diff ids
  std::uint64_t bytes = 0;          // of their files
  std::size_t leftovers = 0;        // of processes that died: half-made layers, old downloads
};

// What a prune must know, told while nobody can add an image.
struct Use {
  std::set<std::string> layers;  // diff ids that sandboxes and snapshots stand on
  std::set<std::string> forget;  // normal names of images that go as well
};

class Store {
 public:
  // Makes what is missing. `home` is $COVE_HOME.
  static Result<Store> open(const std::string& home);

  // By name (normalised), or by 12 or more hex digits of the manifest's or config's digest; conflict if several begin
  // so.
  Result<std::optional<Image>> find(const std::string& name) const;
  Result<std::vector<Image>> list() const;  // by name
  bool has_layer(const std::string& diff_id) const;
  Result<Layer> layer(const std::string& diff_id) const;
  std::string layer_path(const std::string& diff_id) const;  // .../tree; diff_id must be one
  // Every layer must be there. An image of the same name is replaced.
  Result<void> put(const Image& image);
  // The name only; its layers go with prune(). not_found if there is none.
  Result<void> remove(const std::string& name);
  // Removes layers that no image uses and that are not in `keep` (diff ids that sandboxes and snapshots use), what
  // processes that died have left, downloads that nobody has touched for a week. busy while somebody holds the store.
  Result<Pruned> prune(const std::set<std::string>& keep);
  Result<Pruned> prune_after(const std::function<Result<Use>()>& ask);
  // Directories, topmost first, at most kMostLowers of them.
  Result<std::vector<std::string>> lowers(const Image& image);
  Result<std::vector<std::string>> lowers(const std::vector<std::string>& diff_ids_bottom_first);

  // While the result is open nothing is pruned: held from before the first layer is added until after put().
  Result<UniqueFd> hold() const;
  // Waits until nobody else works on that layer. `hex` is that of a diff id; of a blob that is being fetched:
  // lock_blob. One process must not take the same lock twice: add_layer takes lock_layer itself.
  Result<UniqueFd> lock_layer(const std::string& diff_id) const;
  Result<UniqueFd> lock_blob(const std::string& digest) const;
  // downloads/<hex>.part
  std::string part_path(const std::string& digest) const;
  const std::string& path() const { return path_; }  // .../images

  // A fresh directory, layers/.new-XXXX, to unpack into. publish() makes it the layer: synced, renamed.
  Result<std::string> make_aside() const;
  Result<void> publish(const std::string& aside, const Layer& layer);

 private:
  explicit Store(std::string path) : path_(std::move(path)) {}
  Result<UniqueFd> lock(const std::string& name, int how) const;
  Result<void> forget(const std::string& name);
  Result<std::string> merge(const std::vector<std::string>& diff_ids, const std::vector<std::string>& trees);

  std::string path_;
};

}  // namespace cove::image
