#include "image/pull.h"

#include <algorithm>
#include <set>

#include "image/pull_layers.h"
#include "image/registry.h"

namespace cove::image {
namespace {

bool complete(const Store& store, const Image& image) {
  return std::all_of(image.layers.begin(), image.layers.end(),
                     [&](const std::string& layer) { return store.has_layer(layer); });
}

Platform platform_of(const ImageConfig& config) { return {config.os, config.architecture, config.variant}; }

// What one side does not name is no difference.
bool fits(const Platform& image, const Platform& wanted) {
  if (image.architecture.empty()) return true;
  return image.os == wanted.os && image.architecture == wanted.architecture &&
         (image.variant.empty() || wanted.variant.empty() || image.variant == wanted.variant);
}

Result<void> check_layer(const Descriptor& layer) {
  const std::string& type = layer.media_type;
  if (type.find("foreign") != std::string::npos || type.find("nondistributable") != std::string::npos) {
    return fail(Errc::unsupported, "layer " + layer.digest +
                                       " is foreign: it must be fetched from its maker's own servers, as for Windows "
                                       "images, which cove does not do");
  }
  const bool tar = type.ends_with(".tar") || type.ends_with(".tar+gzip") || type.ends_with(".tar.gzip") ||
                   type.ends_with(".tar+zstd") || type.ends_with(".tar.zstd");
  if (!tar) {
    return fail(Errc::unsupported,
                "layer " + layer.digest + " is of type '" + printable(type) + "', which is no layer of files");
  }
  if (layer.size > kMostBlobBytes) return fail(Errc::invalid, "layer " + layer.digest + " is larger than 64 GiB");
  return {};
}

Result<std::vector<WantedLayer>> match_layers(const Manifest& manifest, const OciConfig& config) {
  if (manifest.layers.size() != config.diff_ids.size()) {
    return fail(Errc::invalid, "the manifest lists " + std::to_string(manifest.layers.size()) +
                                   " layers and the config " + std::to_string(config.diff_ids.size()));
  }
  std::vector<WantedLayer> layers;
  std::set<std::string> seen, blobs;
  for (std::size_t i = 0; i < manifest.layers.size(); ++i) {
    COVE_CHECK(check_layer(manifest.layers[i]));
    // The same layer may stand twice, and the same bytes under one diff id only.
    const bool fresh = seen.insert(config.diff_ids[i]).second;
    if (!blobs.insert(manifest.layers[i].digest).second && fresh) {
      return fail(Errc::invalid, "layer " + manifest.layers[i].digest + " has two diff ids");
    }
    if (fresh) layers.push_back({manifest.layers[i], config.diff_ids[i]});
  }
  return layers;
}

Result<void> check_platform(const OciConfig& config, const PullOptions& options, const std::string& name) {
  const Platform image = platform_of(config.config);
  const Platform wanted = options.platform.value_or(host_platform());
  if (fits(image, wanted)) return {};
  const std::string shown = printable(text(image));
  return fail(Errc::not_found, name + " is for " + shown + ", not for " + text(wanted) + ": --platform " + shown +
                                   " pulls it all the same");
}

Result<Image> fetch_image(Store& store, Registry& registry, const FoundManifest& found, const std::string& name,
                          const PullOptions& options, Progress& progress, const std::stop_token& stop) {
  COVE_TRY(const std::string text, registry.small_blob(found.manifest.config, kMostConfigBytes, stop));
  COVE_TRY(OciConfig config, oci_config_from_json(text));
  COVE_CHECK(check_platform(config, options, name));
  COVE_TRY(const auto layers, match_layers(found.manifest, config));
  std::vector<ProgressLayer> shown;
  for (const WantedLayer& layer : layers) shown.push_back({layer.blob.digest, layer.blob.size});
  progress.start(name, shown);
  COVE_CHECK(pull_layers(store, registry, layers, options.parallel, progress, stop));
  Image image{.name = name,
              .digest = found.digest,
              .config_digest = found.manifest.config.digest,
              .layers = config.diff_ids,
              .created = std::move(config.created),
              .config = std::move(config.config)};
  for (const std::string& layer : image.layers) {
    COVE_TRY(const Layer known, store.layer(layer));
    image.size += known.size;
  }
  COVE_CHECK(store.put(image));
  return image;
}

}  // namespace

Result<Image> pull(Store& store, const Reference& reference, const PullOptions& options, Progress& progress,
                   const std::stop_token& stop) {
  if (reference.transport != Transport::registry) return pull_from_engine(store, reference, progress, stop);
  const Platform platform = options.platform.value_or(host_platform());
  COVE_TRY(const UniqueFd held, store.hold());
  COVE_TRY(const std::string name, normal_name(reference.name()));
  COVE_TRY(std::optional<Image> stored, store.find(name));
  if (stored && (stored->name != name || !complete(store, *stored) || !fits(platform_of(stored->config), platform))) {
    stored.reset();
  }
  const auto unchanged = [&] {
    progress.note(name + ": is up to date");
    return *stored;
  };
  if (stored && !reference.digest.empty()) return unchanged();  // a digest never stands for anything else
  Registry registry(reference, options.plain);
  if (stored) {
    COVE_TRY(const std::string current, registry.current_digest(stop));
    if (current == stored->digest) return unchanged();
  }
  COVE_TRY(const FoundManifest found, registry.manifest(platform, stop));
  if (stored && found.digest == stored->digest) return unchanged();
  auto image = fetch_image(store, registry, found, name, options, progress, stop);
  if (!image) return fail(std::move(image).error().because("pull " + name));
  return image;
}

}  // namespace cove::image
