#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "image/archives.h"
#include "image/digest.h"
#include "image/json_fields.h"
#include "image/outer_archive.h"

namespace cove::image {
namespace {

// One image of an archive, before its layers are unpacked.
struct Found {
  std::vector<std::string> names;  // may be none, or not normal
  std::string digest, config_digest;
  OciConfig config;
  std::vector<std::string> layers;  // paths in the archive, bottom first
};

std::string blob_path(const std::string& digest) { return "blobs/sha256/" + digest.substr(kSha256.size()); }

Result<std::string> checked_blob(const OuterArchive& archive, const std::string& digest) {
  COVE_TRY(std::string text, archive.text(blob_path(digest)));
  if (sha256_of(text) == digest) return text;
  return fail(Errc::protocol, "blob " + digest + " of the archive is damaged: its content has another digest");
}

Result<Found> find_oci(const OuterArchive& archive, Descriptor top, const Platform& platform) {
  for (int depth = 0; is_index(top.media_type); ++depth) {
    if (depth > 3) return fail(Errc::invalid, "the archive's indexes name each other");
    COVE_TRY(const std::string text, checked_blob(archive, top.digest));
    COVE_TRY(const std::vector<Descriptor> entries, index_from_json(text));
    COVE_TRY(top, choose(entries, platform));
  }
  Found found{.digest = top.digest};
  COVE_TRY(const std::string text, checked_blob(archive, top.digest));
  COVE_TRY(const Manifest manifest, manifest_from_json(text));
  found.config_digest = manifest.config.digest;
  COVE_TRY(const std::string config, checked_blob(archive, found.config_digest));
  COVE_TRY(found.config, oci_config_from_json(config));
  for (const Descriptor& layer : manifest.layers) found.layers.push_back(blob_path(layer.digest));
  return found;
}

// Entries of one name are one image for several platforms.
Result<std::vector<Found>> find_all_oci(const OuterArchive& archive, const LoadSpec& spec) {
  COVE_TRY(const std::string text, archive.text("index.json"));
  COVE_TRY(const std::vector<Descriptor> entries, index_from_json(text));
  std::map<std::string, std::vector<Descriptor>> by_name;
  for (const Descriptor& one : entries) by_name[one.name.empty() ? one.ref : one.name].push_back(one);
  std::vector<Found> all;
  for (const auto& [name, group] : by_name) {
    COVE_TRY(const Descriptor top, choose(group, spec.platform));
    COVE_TRY(Found found, find_oci(archive, top, spec.platform));
    if (!name.empty()) found.names.push_back(name);
    all.push_back(std::move(found));
  }
  return all;
}

Result<Found> find_docker(const OuterArchive& archive, const Json& json) {
  if (!json.is_object()) return fail(Errc::invalid, "manifest.json: an element is no object");
  const Fields fields(json, "manifest.json");
  Found found;
  COVE_TRY(found.names, fields.texts("RepoTags"));
  COVE_TRY(const std::string path, fields.text("Config"));
  COVE_TRY(const std::string text, archive.text(path));
  found.config_digest = sha256_of(text);
  std::string stem = path.substr(path.rfind('/') + 1);
  if (stem.ends_with(".json")) stem.resize(stem.size() - 5);
  if (is_hex64(stem) && std::string(kSha256) + stem != found.config_digest)
    return fail(Errc::protocol, "the image's config is damaged: its content has another digest than its name says");
  COVE_TRY(found.config, oci_config_from_json(text));
  COVE_TRY(found.layers, fields.texts("Layers"));
  return found;
}

Result<std::vector<Found>> find_all_docker(const OuterArchive& archive) {
  COVE_TRY(const std::string text, archive.text("manifest.json"));
  const Json json = parse_json(text);
  if (!json.is_array() || json.size() > kMostLayers) return fail(Errc::invalid, "manifest.json is no list of images");
  std::vector<Found> all;
  for (const Json& one : json) {
    COVE_TRY(Found found, find_docker(archive, one));
    all.push_back(std::move(found));
  }
  return all;
}

// A reference without a path is only a tag.
Result<std::vector<std::string>> names_for(const Found& found, const LoadSpec& spec) {
  std::vector<std::string> names = spec.name.empty() ? found.names : std::vector{spec.name};
  for (std::string& name : names) {
    const bool only_tag = name.find_first_of("/:") == std::string::npos && spec.name.empty();
    if (only_tag && !spec.fallback.empty()) name = spec.fallback + ":" + name;
  }
  if (names.empty() && !spec.fallback.empty()) names.push_back(spec.fallback);
  if (names.empty()) return fail(Errc::invalid, "the archive says no name for its image: give one with --name");
  for (std::string& name : names) {
    COVE_TRY(name, normal_name(name));
  }
  return names;
}

Result<Image> unpack(Store& store, const OuterArchive& archive, const Found& found, const LoadSpec& spec) {
  if (found.layers.size() != found.config.diff_ids.size())
    return fail(Errc::invalid, "the image has " + std::to_string(found.layers.size()) + " layers, its config " +
                                   std::to_string(found.config.diff_ids.size()));
  Image image{.digest = found.digest,
              .config_digest = found.config_digest,
              .layers = found.config.diff_ids,
              .created = found.config.created,
              .config = found.config.config};
  for (std::size_t i = 0; i < found.layers.size(); ++i) {
    COVE_TRY(const auto source, archive.layer(found.layers[i]));
    const AddLayer how{.expected_diff_id = image.layers[i], .limits = spec.limits, .progress = spec.progress};
    COVE_TRY(const Layer layer, add_layer(store, *source, how));
    image.size += layer.size;
  }
  return image;
}

}  // namespace

Result<std::vector<Image>> load_archive(Store& store, int fd, const LoadSpec& spec) {
  COVE_TRY(const UniqueFd held, store.hold());
  COVE_TRY(const OuterArchive archive, OuterArchive::open(store, fd, spec.limits));
  // Newer archives are both; then the OCI one says more digests.
  const bool docker = archive.has("manifest.json") && !(archive.has("oci-layout") && archive.has("index.json"));
  if (!docker && !archive.has("index.json"))
    return fail(Errc::invalid,
                "this is neither a docker-archive (no manifest.json) nor an OCI archive (no index.json); "
                "a root file system as a tar is taken by 'cove image import'");
  COVE_TRY(const std::vector<Found> all, docker ? find_all_docker(archive) : find_all_oci(archive, spec));
  if (all.empty()) return fail(Errc::invalid, "there is no image in the archive");
  if (all.size() > 1 && !spec.name.empty())
    return fail(Errc::invalid,
                "the archive has " + std::to_string(all.size()) + " images: they cannot all have one name");
  for (const Found& found : all) {
    if (spec.check) COVE_CHECK(spec.check(found.config.config));
  }
  std::vector<Image> images;
  for (const Found& found : all) {
    COVE_TRY(const std::vector<std::string> names, names_for(found, spec));
    COVE_TRY(Image image, unpack(store, archive, found, spec));
    for (const std::string& name : names) {
      images.push_back(image);
      images.back().name = name;
    }
  }
  for (const Image& image : images) COVE_CHECK(store.put(image));
  return images;
}

}  // namespace cove::image
