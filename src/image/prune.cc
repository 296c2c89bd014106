#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <sstream>

#include "image/digest.h"
#include "image/files.h"
#include "image/store_detail.h"
#include "os/remove_tree.h"

namespace cove::image {
namespace {

constexpr std::time_t kOldDownload = std::time_t{7} * 24 * 3600;

// First out of sight by one rename, then removed: a prune that is killed half way leaves no half of a layer.
Result<void> vanish(const std::string& folder, const std::string& name) {
  const std::string gone = folder + "/.new-gone-" + name;
  if (!name.starts_with(".new-") && rename((folder + "/" + name).c_str(), gone.c_str()) < 0)
    return fail_errno("remove " + folder + "/" + name);
  const UniqueFd at(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!at) return fail_errno("open " + folder);
  return os::remove_mapped_tree_at(at.get(), name.starts_with(".new-") ? name : ".new-gone-" + name);
}

bool is_merge_of(const std::string& list, const std::set<std::string>& used) {
  std::istringstream lines(list);
  for (std::string id; std::getline(lines, id);) {
    if (!used.contains(id)) return false;
  }
  return true;
}

Result<void> prune_layers(const Store& store, const std::set<std::string>& used, Pruned& pruned) {
  const std::string folder = store.path() + "/layers";
  COVE_TRY(const auto names, names_below(folder));
  for (const std::string& name : names) {
    const std::string diff_id = std::string(kSha256) + name;
    const bool leftover = name.starts_with(".new-");
    if (!leftover && (!is_hex64(name) || used.contains(diff_id))) continue;
    const auto layer = store.layer(diff_id);
    COVE_CHECK(vanish(folder, name));
    if (leftover) {
      ++pruned.leftovers;
    } else {
      pruned.layers.push_back(diff_id);
      pruned.bytes += layer ? layer->size : 0;
    }
  }
  return {};
}

Result<void> prune_merged(const Store& store, const std::set<std::string>& used) {
  const std::string folder = store.path() + "/merged";
  COVE_TRY(const auto names, names_below(folder));
  for (const std::string& name : names) {
    const auto list = read_small_file(folder + "/" + name + "/" + kMergedList, kMostImageFile);
    if (!list || !is_merge_of(*list, used)) COVE_CHECK(vanish(folder, name));
  }
  return {};
}

// Files: what is behind by a week in downloads, what a writer left in names, locks (nobody holds one now).
Result<void> prune_files(const std::string& folder, std::time_t older, bool only_new, Pruned& pruned) {
  COVE_TRY(const auto names, names_below(folder));
  const std::time_t now = std::time(nullptr);
  for (const std::string& name : names) {
    const std::string path = folder + "/" + name;
    struct stat info{};
    if (only_new && !name.starts_with(".new-")) continue;
    if (lstat(path.c_str(), &info) < 0 || S_ISDIR(info.st_mode) || now - info.st_mtime < older) continue;
    if (unlink(path.c_str()) < 0) return fail_errno("remove " + path);
    ++pruned.leftovers;
  }
  return {};
}

}  // namespace

Result<Pruned> Store::prune(const std::set<std::string>& keep) {
  COVE_TRY(const UniqueFd alone, lock("store", LOCK_EX | LOCK_NB));
  COVE_TRY(const std::vector<Image> images, list());
  std::set<std::string> used = keep;
  for (const Image& image : images) used.insert(image.layers.begin(), image.layers.end());
  Pruned pruned;
  COVE_CHECK(prune_merged(*this, used));
  COVE_CHECK(prune_layers(*this, used, pruned));
  COVE_CHECK(prune_files(path_ + "/names", 0, true, pruned));
  COVE_CHECK(prune_files(path_ + "/downloads", kOldDownload, false, pruned));
  return pruned;
}

}  // namespace cove::image
