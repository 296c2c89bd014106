#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <sstream>

#include "base/deadline.h"
#include "image/digest.h"
#include "image/files.h"
#include "image/store_detail.h"
#include "os/remove_tree.h"

namespace cove::image {
namespace {

constexpr std::time_t kOldDownload = std::time_t{7} * 24 * 3600;
constexpr std::chrono::seconds kPatience{1};  // a sandbox is made in less, an image fetched in more

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

// Files whose names begin so, of at least that age.
struct Stale {
  std::string folder, beginning;
  std::time_t age = 0;
};

Result<void> prune_files(const Stale& stale, Pruned& pruned) {
  COVE_TRY(const auto names, names_below(stale.folder));
  const std::time_t now = std::time(nullptr);
  for (const std::string& name : names) {
    const std::string path = stale.folder + "/" + name;
    struct stat info{};
    if (!name.starts_with(stale.beginning) || lstat(path.c_str(), &info) < 0) continue;
    if (S_ISDIR(info.st_mode) || now - info.st_mtime < stale.age) continue;
    if (unlink(path.c_str()) < 0) return fail_errno("remove " + path);
    ++pruned.leftovers;
  }
  return {};
}

}  // namespace

Result<Pruned> Store::prune(const std::set<std::string>& keep) {
  return prune_after([&]() -> Result<Use> { return Use{.layers = keep, .forget = {}}; });
}

Result<Pruned> Store::prune_after(const std::function<Result<Use>()>& ask) {
  const Deadline deadline = Deadline::after(kPatience);
  auto alone = lock("store", LOCK_EX | LOCK_NB);
  while (!alone && alone.error().code == Errc::busy && !deadline.passed()) {
    usleep(2000);
    alone = lock("store", LOCK_EX | LOCK_NB);
  }
  if (!alone) return fail(std::move(alone).error());
  COVE_TRY(const Use use, ask());
  for (const std::string& name : use.forget) COVE_CHECK(forget(name));
  COVE_TRY(const std::vector<Image> images, list());
  std::set<std::string> used = use.layers;
  for (const Image& image : images) used.insert(image.layers.begin(), image.layers.end());
  Pruned pruned;
  COVE_CHECK(prune_merged(*this, used));
  COVE_CHECK(prune_layers(*this, used, pruned));
  COVE_CHECK(prune_files({.folder = path_ + "/names", .beginning = ".new-"}, pruned));
  COVE_CHECK(prune_files({.folder = path_ + "/downloads", .beginning = "", .age = kOldDownload}, pruned));
  return pruned;
}

}  // namespace cove::image
