#include "changes/view.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "changes/beneath.h"
#include "os/remove_tree.h"

namespace cove::changes {
namespace {

// What a stranger does while we look: not there any more, or no directory any more.
bool vanished() { return errno == ENOENT || errno == ENOTDIR || errno == ELOOP; }

bool opaque_below(int directory, const std::string& name) {
  const UniqueFd fd(openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  return fd && is_opaque(fd.get());
}

}  // namespace

Kind kind_of(mode_t mode) {
  if (S_ISREG(mode)) return Kind::file;
  if (S_ISDIR(mode)) return Kind::directory;
  return S_ISLNK(mode) ? Kind::symlink : Kind::other;
}

std::string_view name(Kind kind) {
  switch (kind) {
    case Kind::file: return "file";
    case Kind::directory: return "directory";
    case Kind::symlink: return "symlink";
    case Kind::other: return "other";
  }
  return "other";
}

Result<std::optional<Entry>> OpenDirectory::find(const std::string& name, LayerNumber from) const {
  std::optional<Entry> found;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const auto& [layer, fd] = parts_[i];
    if (layer < from) continue;
    struct stat info{};
    if (fstatat(fd.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) < 0) {
      if (vanished()) continue;
      return fail_errno("look at " + name);
    }
    if (is_whiteout(info)) break;
    const bool directory = S_ISDIR(info.st_mode);
    if (found && !directory) break;
    if (!found) found = Entry{.info = info};
    found->layers.push_back(layer);
    if (!directory || (i + 1 < parts_.size() && opaque_below(fd.get(), name))) break;
  }
  return found;
}

Result<std::vector<std::string>> OpenDirectory::names(LayerNumber end) const {
  std::vector<std::string> all;
  for (const auto& [layer, fd] : parts_) {
    if (layer >= end) break;
    auto some = os::names_in(fd.get());
    if (!some && some.error().code == Errc::not_found) continue;  // removed meanwhile
    if (!some) return fail(std::move(some).error());
    std::move(some->begin(), some->end(), std::back_inserter(all));
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

int OpenDirectory::in_layer(LayerNumber layer) const {
  for (const auto& [number, fd] : parts_) {
    if (number == layer) return fd.get();
  }
  return -1;
}

Result<Overlay> Overlay::open(const View& view) {
  Overlay overlay;
  for (const std::string& layer : view.layers) {
    COVE_TRY(auto root, open_root(layer));
    overlay.roots_.push_back(std::move(root));
  }
  return overlay;
}

Result<OpenDirectory> Overlay::open_directory(const std::string& path, const std::vector<LayerNumber>& layers) const {
  OpenDirectory directory;
  for (const LayerNumber layer : layers) {
    UniqueFd fd = open_beneath(roots_[layer].get(), path, O_RDONLY | O_DIRECTORY);
    if (!fd && vanished()) continue;
    if (!fd) return fail_errno("open the directory " + path);
    directory.parts_.emplace_back(layer, std::move(fd));
  }
  return directory;
}

std::vector<LayerNumber> Overlay::all_layers(LayerNumber from) const {
  std::vector<LayerNumber> layers;
  for (LayerNumber i = from; i < size(); ++i) layers.push_back(i);
  return layers;
}

Result<std::optional<Entry>> Overlay::find(const std::string& path, LayerNumber from) const {
  std::optional<Entry> at = Entry{.layers = all_layers(from)};
  if (at->layers.empty()) return std::nullopt;
  if (fstat(roots_[at->layers.front()].get(), &at->info) < 0) return fail_errno("look at a layer");
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (at->kind() != Kind::directory) return std::nullopt;
    COVE_TRY(const auto directory, open_directory(path.substr(0, begin == 0 ? 0 : begin - 1), at->layers));
    COVE_TRY(at, directory.find(path.substr(begin, end - begin)));
    if (!at) return at;
    begin = end + 1;
  }
  return at;
}

Result<std::optional<Entry>> lookup(const View& view, const std::string& path) {
  COVE_TRY(const auto overlay, Overlay::open(view));
  return overlay.find(path);
}

Result<std::vector<NamedEntry>> list(const View& view, const std::string& path) {
  COVE_TRY(const auto overlay, Overlay::open(view));
  COVE_TRY(const auto entry, overlay.find(path));
  if (!entry) return fail(Errc::not_found, path + " is not there");
  if (entry->kind() != Kind::directory) return fail(Errc::invalid, path + " is no directory");
  COVE_TRY(const auto directory, overlay.open_directory(path, entry->layers));
  COVE_TRY(auto names, directory.names());
  std::vector<NamedEntry> entries;
  for (std::string& each : names) {
    COVE_TRY(auto found, directory.find(each));
    if (found) entries.push_back({.name = std::move(each), .entry = std::move(*found)});
  }
  return entries;
}

}  // namespace cove::changes
