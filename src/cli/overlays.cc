#include "cli/overlays.h"

#include <algorithm>

#include "backend/native/layers.h"
#include "backend/native/volumes.h"
#include "backend/traits.h"
#include "record/record.h"

namespace cove::cli {
namespace {

Result<std::vector<native::Layer>> layers_above_image(const record::Info& info, const SandboxSpec& spec) {
  if (!traits_of(info.spec.backend).has_layers)
    return fail(Errc::unsupported, "backend " + info.spec.backend + " does not know what a sandbox has changed");
  return native::find_layers(spec, os::find_users(), native::Blocks::single);
}

// What a sandbox's mounts stand on, below its root: an image that has none gets them, before anybody does anything.
Result<std::set<std::string>> places_of_mounts(const SandboxSpec& spec, const std::string& home) {
  std::set<std::string> places{"dev", "dev/shm", "proc", "sys", "tmp", "workspace", "cove", "cove/guest", "cove/run"};
  COVE_TRY(const auto volumes, native::read_volumes(spec.volumes, home));
  for (const native::Volume& volume : volumes) {
    for (std::size_t end = 0; end != std::string::npos;) {
      end = volume.target.find('/', end + 1);
      places.insert(volume.target.substr(1, end - 1));
    }
  }
  return places;
}

}  // namespace

Result<std::vector<Overlaid>> overlays_of(const record::Info& info, std::size_t layers, std::size_t until) {
  SandboxSpec spec = info.spec;
  COVE_TRY(const std::string home, record::home());
  spec.directory = home + "/sandboxes/" + info.name;
  const bool all = until > spec.layers.size();
  if (!all) spec.layers.resize(until);
  COVE_TRY(const auto now, layers_above_image(info, spec));
  spec.layers.resize(std::min(layers, spec.layers.size()));
  COVE_TRY(const auto before, layers_above_image(info, spec));
  COVE_TRY(const auto places, places_of_mounts(spec, home));
  std::vector<Overlaid> overlays;
  for (std::size_t i = 0; i < now.size(); ++i) {
    Overlaid one;
    one.below = now[i].target == "." ? "" : now[i].target + "/";
    one.states.below = one.below;
    one.of_host = now[i].volume >= 0;
    if (one.below.empty()) one.places = places;
    one.states.lower.layers = before[i].lowers;
    if (all && spec.disk_bytes == 0) one.states.uppers.push_back(now[i].upper);
    const auto more = static_cast<std::ptrdiff_t>(now[i].lowers.size() - before[i].lowers.size());
    one.states.uppers.insert(one.states.uppers.end(), now[i].lowers.begin(), now[i].lowers.begin() + more);
    overlays.push_back(std::move(one));
  }
  return overlays;
}

Result<std::vector<Found>> find_changes(const std::vector<Overlaid>& overlays, const std::string& path,
                                        const std::vector<std::string>& globs) {
  std::vector<Found> found;
  const os::Users users = os::find_users();
  const std::string wanted = path.substr(std::min(path.find_first_not_of('/'), path.size()));
  for (const Overlaid& overlay : overlays) {
    if (overlay.states.uppers.empty()) continue;
    changes::CompareOptions options;
    options.globs = globs;
    options.uid_base = users.by_root ? users.uid : 0;
    options.gid_base = users.by_root ? users.gid : 0;
    options.owners = users.by_root && !overlay.of_host;  // inside, files of the host have another owner
    if (wanted.starts_with(overlay.below))
      options.prefix = wanted.substr(overlay.below.size());
    else if (!wanted.empty() && !overlay.below.starts_with(wanted + "/"))
      continue;
    COVE_TRY(auto changes, changes::compare(overlay.states.lower, overlay.states.uppers, options));
    std::erase_if(changes, [&](const changes::Change& change) {
      const bool empty = change.kind == changes::Kind::directory || change.size == 0;
      return change.what == changes::Change::What::added && empty && overlay.places.contains(change.path);
    });
    if (!changes.empty()) found.push_back({overlay, std::move(changes)});
  }
  return found;
}

}  // namespace cove::cli
