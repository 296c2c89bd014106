#include "backend/native/layers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <set>

#include "backend/native/host_image.h"
#include "backend/native/volumes.h"
#include "changes/merge.h"
#include "image/store.h"
#include "os/mapped.h"
#include "os/remove_tree.h"
#include "os/spread.h"

namespace cove::native {
namespace {

namespace fs = std::filesystem;

Result<std::vector<Layer>> stored_layers(const SandboxSpec& spec) {
  if (spec.image_layers.empty())
    return fail(Errc::not_found,
                "image " + spec.image + " is not here: 'cove image pull " + spec.image + "' fetches it");
  COVE_TRY(image::Store store, image::Store::open(home_of(spec)));
  COVE_TRY(auto lowers, store.lowers(spec.image_layers));
  return std::vector<Layer>{
      {.name = "root", .target = ".", .lowers = std::move(lowers), .sealed = 0, .volume = -1, .upper = "", .work = ""}};
}

Result<std::vector<Layer>> image_layers(const SandboxSpec& spec, const os::Users& users) {
  if (spec.image.empty() || spec.image == "host") return host_layers(home_of(spec) + "/images", users.uid, users.gid);
  struct stat info{};
  if (!spec.image.starts_with('/')) return stored_layers(spec);
  if (stat(spec.image.c_str(), &info) < 0) return fail(errno_error(errno, "--image " + spec.image));
  if (!S_ISDIR(info.st_mode)) return fail(Errc::invalid, "--image " + spec.image + ": it is not a directory");
  return std::vector<Layer>{
      {.name = "root", .target = ".", .lowers = {spec.image}, .sealed = 0, .volume = -1, .upper = "", .work = ""}};
}

// How many sealed layers are merged into one: so a chain of 65,535 is shown as 60.
constexpr std::size_t kSmallBlock = 16;
constexpr std::array<std::size_t, 3> kBlocks{4096, 256, kSmallBlock};  // the largest first

std::string block_name(const std::string& last, std::size_t length) { return last + "." + std::to_string(length); }

bool is_directory(const std::string& path) {
  struct stat info{};
  return lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// A chain of sealed layers, taken as the largest blocks that are merged already. A layer always stands on the same
// ones, so its id and a block's length name the block.
std::vector<std::string> blocks_of(const std::string& sealed, const std::vector<std::string>& chain, Blocks blocks) {
  std::vector<std::string> taken;
  for (std::size_t at = 0; at < chain.size();) {
    std::size_t length = 1;
    for (const std::size_t longer : kBlocks) {
      if (blocks == Blocks::single || at % longer != 0 || at + longer > chain.size()) continue;
      if (!is_directory(sealed + block_name(chain[at + longer - 1], longer))) continue;
      length = longer;
      break;
    }
    taken.push_back(length == 1 ? chain[at] : block_name(chain[at + length - 1], length));
    at += length;
  }
  return taken;
}

// The last sealed is the topmost. One without changes of an overlay has no directory for it. What was put there before
// goes.
Result<void> put_sealed_upon(const SandboxSpec& spec, std::vector<Layer>& layers, Blocks blocks) {
  const std::string sealed = home_of(spec) + "/layers/";
  const auto chain = blocks_of(sealed, spec.layers, blocks);
  for (Layer& layer : layers) {
    std::vector<std::string> lowers;
    for (auto id = chain.rbegin(); id != chain.rend(); ++id) {
      const std::string path = sealed + *id + "/" + layer.name;
      if (is_directory(path)) lowers.push_back(path);
    }
    const std::size_t count = lowers.size();
    lowers.insert(lowers.end(), layer.lowers.begin() + static_cast<std::ptrdiff_t>(layer.sealed), layer.lowers.end());
    layer.lowers = std::move(lowers);
    layer.sealed = count;
    if (blocks == Blocks::merged && layer.lowers.size() > kMostLowers)
      return fail(Errc::busy, "the sandbox stands on " + std::to_string(layer.lowers.size()) +
                                  " layers, more than can be shown as one, until they are merged");
  }
  return {};
}

// Each volume that is shown as a copy is an overlay of its own.
Result<void> add_copies(const SandboxSpec& spec, std::vector<Layer>& layers) {
  COVE_TRY(const auto volumes, read_volumes(spec.volumes, home_of(spec)));
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    if (!volumes[i].copied) continue;
    if (layers.size() == kMostLayers)
      return fail(Errc::unsupported, "--volume: a sandbox takes fewer volumes that are shown as a copy (cow)");
    layers.push_back({.name = "copy" + std::to_string(i),
                      .target = volumes[i].target.substr(1),
                      .lowers = {volumes[i].source},
                      .sealed = 0,
                      .volume = static_cast<int>(i),
                      .upper = "",
                      .work = ""});
  }
  return {};
}

Result<void> make_owned(const std::string& path, const os::Users& users) {
  if (mkdir(path.c_str(), 0755) < 0 && errno != EEXIST) return fail_errno("make " + path);
  if (users.by_root && lchown(path.c_str(), users.uid, users.gid) < 0) return fail_errno("give away " + path);
  return {};
}

void name_own(const SandboxSpec& spec, std::vector<Layer>& layers) {
  for (Layer& layer : layers) {
    layer.upper = spec.directory + "/fs/" + layer.name;
    layer.work = layer.upper + ".work";
  }
}

// /tmp does not survive a stop, nor does what an exchange left that a crash has cut off.
Result<void> make_own(const SandboxSpec& spec, const os::Users& users, std::vector<Layer>& layers) {
  const std::string own = spec.directory + "/fs";
  if (mkdir(own.c_str(), 0700) < 0 && errno != EEXIST) return fail_errno("make " + own);
  for (const Layer& layer : layers) {
    for (const std::string& old : {layer.upper + ".old", layer.work + ".old"}) {
      if (is_directory(old)) COVE_CHECK(os::remove_mapped_tree_at(AT_FDCWD, old));
    }
    COVE_CHECK(make_owned(layer.upper, users));
    COVE_CHECK(make_owned(layer.work, users));
  }
  std::error_code ignored;
  fs::remove_all(layers.front().upper + "/tmp", ignored);
  return {};
}

// Files of other users of the caller's range cannot be linked but from inside a user namespace.
Result<void> merge_trees(const std::vector<std::string>& trees, const std::string& into) {
  auto plainly = changes::merge_layers(trees, into);
  if (plainly || plainly.error().code != Errc::denied) return plainly;
  if (os::as_mapped_root([&] { return changes::merge_layers(trees, into).has_value(); })) return {};
  return plainly;
}

// The layers of one block, as one. Whoever is first has made it; it is the same, whoever makes it.
Result<void> merge_block(const std::string& sealed, const std::vector<std::string>& chain) {
  const std::string into = sealed + block_name(chain.back(), chain.size());
  const std::string aside = into + ".new-" + std::to_string(getpid());
  if (is_directory(into)) return {};
  COVE_CHECK(os::remove_mapped_tree_at(AT_FDCWD, aside));
  if (mkdir(aside.c_str(), 0700) < 0) return fail_errno("make " + aside);
  const auto give_up = [&](Error error) {
    [[maybe_unused]] const auto removed = os::remove_mapped_tree_at(AT_FDCWD, aside);
    return fail(std::move(error));
  };
  const auto ids = blocks_of(sealed, chain, chain.size() == kSmallBlock ? Blocks::single : Blocks::merged);
  std::error_code error;
  std::set<std::string> names;
  for (const std::string& id : ids) {
    for (const auto& entry : fs::directory_iterator(sealed + id, error)) names.insert(entry.path().filename());
  }
  for (const std::string& name : names) {
    std::vector<std::string> trees;
    for (auto id = ids.rbegin(); id != ids.rend(); ++id) {
      if (is_directory(sealed + *id + "/" + name)) trees.push_back(sealed + *id + "/" + name);
    }
    if (auto merged = merge_trees(trees, aside + "/" + name); !merged) return give_up(std::move(merged).error());
  }
  if (rename(aside.c_str(), into.c_str()) == 0) return {};
  const int number = errno;
  if (number == EEXIST || number == ENOTEMPTY) return os::remove_mapped_tree_at(AT_FDCWD, aside);
  return give_up(errno_error(number, "name " + into));
}

}  // namespace

bool is_empty(const std::string& directory) {
  std::error_code error;
  return fs::directory_iterator(directory, error) == fs::directory_iterator();
}

std::string home_of(const SandboxSpec& spec) { return fs::path(spec.directory).parent_path().parent_path().string(); }

Result<std::vector<Layer>> find_layers(const SandboxSpec& spec, const os::Users& users, Blocks blocks) {
  COVE_TRY(auto layers, image_layers(spec, users));
  COVE_CHECK(add_copies(spec, layers));
  COVE_CHECK(put_sealed_upon(spec, layers, blocks));
  name_own(spec, layers);
  return layers;
}

Result<std::vector<Layer>> make_layers(const SandboxSpec& spec, const os::Users& users) {
  // What a crash has kept from being merged would add up to more than can be mounted.
  if (spec.layers.size() >= kSmallBlock) [[maybe_unused]]
    const auto merged = merge_sealed(spec);
  COVE_TRY(auto layers, find_layers(spec, users));
  if (spec.disk_bytes == 0) COVE_CHECK(make_own(spec, users, layers));
  return layers;
}

Result<void> merge_sealed(const SandboxSpec& spec) {
  const std::string sealed = home_of(spec) + "/layers/";
  // All that are missing, not only the last: a merge may have been cut off by a crash.
  for (auto length = kBlocks.rbegin(); length != kBlocks.rend(); ++length) {
    for (std::size_t end = *length; end <= spec.layers.size(); end += *length) {
      const auto last = spec.layers.begin() + static_cast<std::ptrdiff_t>(end);
      COVE_CHECK(merge_block(sealed, {last - static_cast<std::ptrdiff_t>(*length), last}));
    }
  }
  return {};
}

Result<void> LayerChange::move(const std::string& from, const std::string& to, bool remove) {
  if (rename(from.c_str(), to.c_str()) < 0) return fail_errno("move " + from);
  moves_.push_back({from, to, remove});
  return {};
}

// The kernel still uses the old directories until the exchange; new ones take their names.
Result<void> LayerChange::renew(const Layer& layer, const os::Users& users) {
  COVE_CHECK(move(layer.work, layer.work + ".old", true));
  for (const std::string& path : {layer.upper, layer.work}) {
    COVE_CHECK(make_owned(path, users));
    made_.push_back(path);
  }
  return {};
}

Result<LayerChange> LayerChange::seal(const SandboxSpec& spec, const os::Users& users, const std::vector<Layer>& now,
                                      const std::string& id) {
  LayerChange change;
  SandboxSpec next = spec;
  next.layers.push_back(id);
  change.layers_ = now;
  const std::string all = home_of(spec) + "/layers", sealed = all + "/" + id;
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (!is_empty(now[i].upper)) change.changed_.push_back(i);
  }
  if (change.changed_.empty()) return change;
  COVE_CHECK(os::make_spread_directory(all));
  if (mkdir(sealed.c_str(), 0700) < 0) return fail_errno("make " + sealed);
  change.sealed_ = sealed;
  for (const std::size_t i : change.changed_) {
    Layer& layer = change.layers_[i];
    struct stat before{};
    if (stat(layer.upper.c_str(), &before) < 0) return fail_errno("look at " + layer.upper);
    COVE_CHECK(change.move(layer.upper, sealed + "/" + layer.name, false));
    COVE_CHECK(change.renew(layer, users));
    if (chmod(layer.upper.c_str(), before.st_mode & 07777) < 0) return fail_errno("set the mode of " + layer.upper);
  }
  std::vector<Layer> after = change.layers_;
  COVE_CHECK(put_sealed_upon(next, after, Blocks::merged));
  for (const std::size_t i : change.changed_) change.layers_[i] = after[i];
  return change;
}

Result<LayerChange> LayerChange::rewind(const SandboxSpec& spec, const os::Users& users) {
  LayerChange change;
  COVE_TRY(change.layers_, find_layers(spec, users));
  for (std::size_t i = 0; i < change.layers_.size(); ++i) {
    const Layer& layer = change.layers_[i];
    change.changed_.push_back(i);
    COVE_CHECK(change.move(layer.upper, layer.upper + ".old", true));
    COVE_CHECK(change.renew(layer, users));
  }
  return change;
}

void LayerChange::keep() {
  for (const Move& move : moves_) {
    if (move.remove) [[maybe_unused]]
      const auto removed = os::remove_mapped_tree_at(AT_FDCWD, move.to);
  }
  moves_.clear();
  made_.clear();
  sealed_.clear();
}

LayerChange::~LayerChange() {
  for (const std::string& path : made_) rmdir(path.c_str());
  for (auto move = moves_.rbegin(); move != moves_.rend(); ++move) rename(move->to.c_str(), move->from.c_str());
  if (!sealed_.empty()) rmdir(sealed_.c_str());
}

}  // namespace cove::native
