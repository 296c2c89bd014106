#pragma once

// Manifests and indexes, of OCI and of Docker (schema 2): the same fields under other media types.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace cove::image {

inline constexpr std::string_view kOciManifest = "application/vnd.oci.image.manifest.v1+json";
inline constexpr std::string_view kOciIndex = "application/vnd.oci.image.index.v1+json";
inline constexpr std::string_view kOciConfig = "application/vnd.oci.image.config.v1+json";
inline constexpr std::string_view kOciLayer = "application/vnd.oci.image.layer.v1.tar";
inline constexpr std::string_view kOciLayerGzip = "application/vnd.oci.image.layer.v1.tar+gzip";
inline constexpr std::string_view kDockerManifest = "application/vnd.docker.distribution.manifest.v2+json";
inline constexpr std::string_view kDockerList = "application/vnd.docker.distribution.manifest.list.v2+json";

inline constexpr std::size_t kMostManifestBytes = std::size_t{4} << 20;

struct Platform {
  std::string os = "linux", architecture, variant;

  bool operator==(const Platform&) const = default;
};
// This machine's, as OCI names it.
Platform host_platform();
// "linux/amd64", "linux/arm64/v8"
Result<Platform> parse_platform(std::string_view text);
std::string text(const Platform& platform);

struct Descriptor {
  std::string media_type, digest;
  std::uint64_t size = 0;
  Platform platform;  // of an index's entry; os "" if it says nothing
  std::string ref;    // annotation org.opencontainers.image.ref.name
  std::string name;   // annotation io.containerd.image.name
};

struct Manifest {
  std::string media_type;
  Descriptor config;
  std::vector<Descriptor> layers;  // bottom first
};

bool is_index(std::string_view media_type);
bool is_manifest(std::string_view media_type);
Result<Manifest> manifest_from_json(std::string_view text);
Result<std::vector<Descriptor>> index_from_json(std::string_view text);
// The entry for the platform: the exact variant first, then any; an index of one entry without platform is that entry.
// not_found names what there is instead.
Result<Descriptor> choose(const std::vector<Descriptor>& entries, const Platform& platform);

}  // namespace cove::image
