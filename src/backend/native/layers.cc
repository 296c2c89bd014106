#include "backend/native/layers.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "backend/native/host_image.h"
#include "os/remove_tree.h"

namespace cove::native {
namespace {

namespace fs = std::filesystem;

Result<std::vector<Layer>> image_layers(const SandboxSpec& spec, const os::Users& users) {
  if (spec.image.empty() || spec.image == "host") return host_layers(home_of(spec) + "/images", users.uid, users.gid);
  struct stat info{};
  if (!spec.image.starts_with('/')) {
    return fail(Errc::unsupported, "--image " + spec.image + ": the native backend takes 'host' or a directory's path");
  }
  if (stat(spec.image.c_str(), &info) < 0) return fail(errno_error(errno, "--image " + spec.image));
  if (!S_ISDIR(info.st_mode)) return fail(Errc::invalid, "--image " + spec.image + ": it is not a directory");
  return std::vector<Layer>{{.name = "root", .target = ".", .lowers = {spec.image}, .upper = "", .work = ""}};
}

bool is_directory(const std::string& path) {
  struct stat info{};
  return lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// The last sealed is the topmost. One without changes of this overlay has no directory for it.
Result<void> put_sealed_upon(const SandboxSpec& spec, std::vector<Layer>& layers) {
  const std::string sealed = home_of(spec) + "/layers/";
  for (Layer& layer : layers) {
    std::vector<std::string> above;
    for (auto id = spec.layers.rbegin(); id != spec.layers.rend(); ++id) {
      const std::string path = sealed + *id + "/" + layer.name;
      if (is_directory(path)) above.push_back(path);
    }
    layer.lowers.insert(layer.lowers.begin(), above.begin(), above.end());
    if (layer.lowers.size() > kMostLowers)
      return fail(Errc::unsupported, "the sandbox stands on " + std::to_string(layer.lowers.size()) +
                                         " layers; the most that can be shown as one are " +
                                         std::to_string(kMostLowers));
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
      if (is_directory(old)) COVE_CHECK(os::remove_tree(old));
    }
    COVE_CHECK(make_owned(layer.upper, users));
    COVE_CHECK(make_owned(layer.work, users));
  }
  std::error_code ignored;
  fs::remove_all(layers.front().upper + "/tmp", ignored);
  return {};
}

bool is_empty(const std::string& directory) {
  std::error_code error;
  return fs::directory_iterator(directory, error) == fs::directory_iterator();
}

}  // namespace

std::string home_of(const SandboxSpec& spec) { return fs::path(spec.directory).parent_path().parent_path().string(); }

Result<std::vector<Layer>> find_layers(const SandboxSpec& spec, const os::Users& users) {
  COVE_TRY(auto layers, image_layers(spec, users));
  COVE_CHECK(put_sealed_upon(spec, layers));
  name_own(spec, layers);
  return layers;
}

Result<std::vector<Layer>> make_layers(const SandboxSpec& spec, const os::Users& users) {
  COVE_TRY(auto layers, find_layers(spec, users));
  if (spec.disk_bytes == 0) COVE_CHECK(make_own(spec, users, layers));
  return layers;
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
  change.layers_ = now;
  const std::string all = home_of(spec) + "/layers", sealed = all + "/" + id;
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (!is_empty(now[i].upper)) change.changed_.push_back(i);
  }
  if (change.changed_.empty()) return change;
  if (mkdir(all.c_str(), 0700) < 0 && errno != EEXIST) return fail_errno("make " + all);
  if (mkdir(sealed.c_str(), 0700) < 0) return fail_errno("make " + sealed);
  change.sealed_ = sealed;
  for (const std::size_t i : change.changed_) {
    Layer& layer = change.layers_[i];
    struct stat before{};
    if (stat(layer.upper.c_str(), &before) < 0) return fail_errno("look at " + layer.upper);
    if (layer.lowers.size() >= kMostLowers)
      return fail(Errc::busy, "the sandbox stands on too many layers to seal another one");
    COVE_CHECK(change.move(layer.upper, sealed + "/" + layer.name, false));
    COVE_CHECK(change.renew(layer, users));
    if (chmod(layer.upper.c_str(), before.st_mode & 07777) < 0) return fail_errno("set the mode of " + layer.upper);
    layer.lowers.insert(layer.lowers.begin(), sealed + "/" + layer.name);
  }
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
      const auto removed = os::remove_tree(move.to);
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
