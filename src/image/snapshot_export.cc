#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>

#include "backend/native/layers.h"
#include "backend/traits.h"
#include "image/snapshot.h"
#include "image/snapshot_state.h"
#include "os/users.h"

namespace cove::image {
namespace {

namespace fs = std::filesystem;
using native::find_layers;

std::string time_text(std::int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  std::array<char, 32> text{};
  if (gmtime_r(&time, &parts) == nullptr) return "";
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

bool is_host(const std::string& image) { return image.empty() || image == "host"; }

// A sandbox as it would be made from the snapshot, on a base image that is given as a directory or is the host.
SandboxSpec spec_on(const std::string& home, const std::string& image, std::vector<std::string> layers) {
  SandboxSpec spec;
  spec.directory = home + "/sandboxes/none";
  spec.image = image;
  spec.layers = std::move(layers);
  return spec;
}

// What is above the base image: the lower trees of each overlay without those that it has anyway.
Result<std::vector<native::Layer>> sealed_layers(const SandboxSpec& spec, std::vector<native::Layer> base) {
  COVE_TRY(auto all, find_layers(spec, os::find_users()));
  for (std::size_t i = 0; i < all.size() && i < base.size(); ++i)
    all[i].lowers.resize(all[i].lowers.size() - base[i].lowers.size());
  return all;
}

std::vector<std::string> shell_of(const std::string& root) {
  struct stat info{};
  for (const char* shell : {"/bin/bash", "/bin/sh"}) {
    if (lstat((root + shell).c_str(), &info) == 0) return {shell};
  }
  return {};
}

// Copies of host directories are overlays of their own, which stand where the volume does.
bool has_copies(const std::string& home, const record::Snapshot& snapshot) {
  for (const std::string& id : snapshot.layers) {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(home + "/layers/" + id, none)) {
      if (entry.path().filename().string().starts_with("copy")) return true;
    }
  }
  return false;
}

void put_env(const record::Snapshot& snapshot, std::vector<std::string>& env) {
  for (const auto& [key, value] : snapshot.env) {
    std::erase_if(env, [&](const std::string& one) { return one.starts_with(key + "="); });
    std::string entry = key;
    env.push_back(entry.append("=").append(value));
  }
}

using Layers = std::vector<std::vector<TreePart>>;

void append(Layers& to, const Layers& more) { to.insert(to.end(), more.begin(), more.end()); }

// Of an image in the store, as it was when the sandbox was made; what else it says only if its name is still the same.
Result<SandboxSpec> base_of_store(Store& store, const std::string& home, const record::Snapshot& snapshot,
                                  ArchiveSpec& archive) {
  COVE_TRY(const auto lowers, store.lowers(snapshot.image_layers));  // merged where they are too many for an engine
  for (auto lower = lowers.rbegin(); lower != lowers.rend(); ++lower)
    archive.layers.push_back({{.tree = *lower, .kind = TreeKind::overlay, .at = ""}});
  COVE_TRY(const auto image, store.find(snapshot.image));
  if (image && image->layers == snapshot.image_layers) archive.config = image->config;
  archive.config.labels = without_ours(archive.config.labels);
  return spec_on(home, store.path() + "/empty", snapshot.layers);
}

Result<SandboxSpec> base_of_machine(const std::string& home, const record::Snapshot& snapshot,
                                    SnapshotArchive& planned) {
  COVE_TRY(const auto base, find_layers(spec_on(home, snapshot.image, {}), os::find_users()));
  append(planned.archive.layers, stacked(base, TreeKind::seen));
  planned.archive.config.cmd = shell_of(is_host(snapshot.image) ? "" : snapshot.image);
  planned.notes.emplace_back(is_host(snapshot.image) ? "its image is this machine: all of /usr and /opt that others "
                                                       "may read goes into the archive, which can take "
                                                       "minutes and gigabytes, also below COVE_HOME for the time"
                                                     : "its image is the directory " + snapshot.image +
                                                           ": what only its owner may read there is left out");
  return spec_on(home, snapshot.image, snapshot.layers);
}

}  // namespace

std::vector<std::vector<TreePart>> stacked(const std::vector<native::Layer>& overlays, TreeKind kind) {
  std::size_t height = 0;
  for (const native::Layer& overlay : overlays) height = std::max(height, overlay.lowers.size());
  Layers layers(height);
  for (const native::Layer& overlay : overlays) {
    const std::string at = overlay.target == "." ? "" : overlay.target;
    for (std::size_t i = 0; i < overlay.lowers.size(); ++i)
      layers[i].push_back({.tree = overlay.lowers[overlay.lowers.size() - 1 - i], .kind = kind, .at = at});
  }
  return layers;
}

Result<SnapshotArchive> plan_archive(Store& store, const std::string& home, const record::Snapshot& snapshot) {
  if (!snapshot.memory.empty())
    return fail(Errc::unsupported, "snapshot " + snapshot.tag +
                                       " has memory, which no image holds: 'cove snapshot NAME TAG' without --memory "
                                       "saves what can be exported");
  if (!traits_of(snapshot.backend).has_layers)
    return fail(Errc::unsupported, "snapshot " + snapshot.tag + " is of backend " + snapshot.backend +
                                       ": only those of native, gvisor, docker and podman sandboxes can be exported");
  SnapshotArchive planned;
  ArchiveSpec& archive = planned.archive;
  const bool stored = !is_host(snapshot.image) && !snapshot.image.starts_with('/');
  COVE_TRY(const SandboxSpec spec,
           stored ? base_of_store(store, home, snapshot, archive) : base_of_machine(home, snapshot, planned));
  COVE_TRY(const auto base, find_layers(spec_on(home, spec.image, {}), os::find_users()));
  COVE_TRY(const auto sealed, sealed_layers(spec, base));
  append(archive.layers, stacked(sealed, TreeKind::overlay));
  if (has_copies(home, snapshot))
    planned.notes.emplace_back(
        "changes of volumes shown as a copy (cow) are not part of the archive: 'cove apply' takes "
        "them to the host");
  archive.name = std::string(kSnapshotNames) + snapshot.tag;
  archive.created = time_text(snapshot.created_unix);
  put_env(snapshot, archive.config.env);
  if (!snapshot.cwd.empty()) archive.config.cwd = snapshot.cwd;
  if (!snapshot.user.empty()) archive.config.user = snapshot.user;
  COVE_TRY(const Labels labels, labels_of(snapshot));
  archive.config.labels.insert(labels.begin(), labels.end());
  return planned;
}

}  // namespace cove::image
