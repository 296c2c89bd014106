#include <fcntl.h>
#include <sys/file.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdio>
#include <unordered_set>

#include "changes/merge.h"
#include "image/files.h"
#include "image/store_detail.h"
#include "os/remove_tree.h"

namespace cove::image {
namespace {

std::string list_of(const std::vector<std::string>& diff_ids) {
  std::string text;
  for (const std::string& one : diff_ids) text += one + "\n";
  return text;
}

// Of several equal layers the topmost decides whatever the lower ones decide, and an overlay takes each only once.
std::vector<std::string> without_repeats(const std::vector<std::string>& bottom_first) {
  std::vector<std::string> topmost_first;
  std::unordered_set<std::string> seen;
  for (auto one = bottom_first.rbegin(); one != bottom_first.rend(); ++one) {
    if (seen.insert(*one).second) topmost_first.push_back(*one);
  }
  return topmost_first;
}

// An overlay does not look for this mark on a layer's root: what is below such a layer is left out here.
bool hides_all_below(const std::string& tree) {
  char value = 0;
  return getxattr(tree.c_str(), "user.overlay.opaque", &value, 1) == 1 && value == 'y';
}

Result<void> publish_merged(const std::string& aside, const std::string& directory) {
  const UniqueFd fd(open(aside.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail_errno("open " + aside);
  if (syncfs(fd.get()) < 0) return fail_errno("write the merged layers to disk");
  if (rename(aside.c_str(), directory.c_str()) < 0) return fail_errno("rename the merged layers to " + directory);
  return sync_directory(directory.substr(0, directory.rfind('/')));
}

}  // namespace

// Not by a cryptographic hash, which this library does without: the list inside says what it really is.
std::string merged_directory(const std::string& images, const std::vector<std::string>& diff_ids) {
  const std::string text = list_of(diff_ids);
  std::string hex;
  for (const std::uint64_t seed :
       {0xcbf29ce484222325U, 0x9e3779b97f4a7c15U, 0xc2b2ae3d27d4eb4fU, 0x165667b19e3779f9U}) {
    std::uint64_t hash = seed;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    for (int shift = 60; shift >= 0; shift -= 4) hex += "0123456789abcdef"[(hash >> shift) & 15U];
  }
  return images + "/merged/" + hex;
}

Result<std::vector<std::string>> Store::lowers(const Image& image) { return lowers(image.layers); }

Result<std::vector<std::string>> Store::lowers(const std::vector<std::string>& diff_ids_bottom_first) {
  const std::vector<std::string> ids = without_repeats(diff_ids_bottom_first);
  for (const std::string& id : ids) {
    if (!has_layer(id)) return fail(Errc::not_found, "layer " + id + " is gone: pull or load the image again");
  }
  std::vector<std::string> paths;
  for (const std::string& id : ids) {
    paths.push_back(layer_path(id));
    if (hides_all_below(paths.back())) break;
  }
  if (paths.empty()) paths.push_back(path_ + "/empty");
  if (paths.size() <= kMostLowers) return paths;
  const auto split = static_cast<std::ptrdiff_t>(kMostLowers - 1);
  const std::vector<std::string> merged(ids.begin() + split, ids.begin() + static_cast<std::ptrdiff_t>(paths.size())),
      trees(paths.begin() + split, paths.end());
  paths.resize(kMostLowers - 1);
  COVE_TRY(std::string tree, merge(merged, trees));
  paths.push_back(std::move(tree));
  return paths;
}

Result<std::string> Store::merge(const std::vector<std::string>& ids, const std::vector<std::string>& trees) {
  const std::string directory = merged_directory(path_, ids);
  COVE_TRY(const UniqueFd held, hold());
  COVE_TRY(const UniqueFd lock, this->lock("merged-" + directory.substr(directory.rfind('/') + 1), LOCK_EX));
  const auto known = read_small_file(directory + "/" + kMergedList, kMostImageFile);
  if (known && *known == list_of(ids)) return directory + "/tree";
  if (known) return fail(Errc::conflict, directory + " holds other layers: remove it");
  COVE_TRY(const std::string aside, make_aside());
  Result<void> made;
  if (rmdir((aside + "/tree").c_str()) < 0) made = fail_errno("remove " + aside + "/tree");  // it is made anew
  if (made) made = changes::merge_layers(trees, aside + "/tree");
  if (made) made = replace_file(aside, kMergedList, list_of(ids));
  if (made) made = publish_merged(aside, directory);
  if (made) return directory + "/tree";
  os::remove_tree(aside);
  return fail(std::move(made).error());
}

}  // namespace cove::image
