#include "image/oci.h"

#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "image/digest.h"
#include "image/image.h"
#include "image/json_fields.h"

namespace cove::image {
namespace {

constexpr std::uint64_t kMostBlobBytes = std::uint64_t{1} << 40;

Result<Platform> platform_from(const Json& json) {
  const Fields fields(json, "a manifest's platform");
  Platform platform;
  COVE_TRY(platform.os, fields.text("os"));
  COVE_TRY(platform.architecture, fields.text("architecture"));
  COVE_TRY(platform.variant, fields.text("variant"));
  return platform;
}

Result<Descriptor> descriptor_from(const Json& json, const std::string& what) {
  if (!json.is_object()) return fail(Errc::invalid, what + " is no object");
  const Fields fields(json, what);
  Descriptor one;
  COVE_TRY(one.media_type, fields.text("mediaType"));
  COVE_TRY(one.digest, fields.text("digest"));
  if (!is_digest(one.digest)) return fields.wrong("digest", "is no sha256 digest");
  COVE_TRY(one.size, fields.number("size"));
  if (one.size > kMostBlobBytes) return fields.wrong("size", "is beyond 1 TiB");
  COVE_TRY(const Json platform, fields.object("platform"));
  COVE_TRY(one.platform, platform_from(platform));
  COVE_TRY(const auto annotations, fields.text_map("annotations"));
  if (const auto ref = annotations.find("org.opencontainers.image.ref.name"); ref != annotations.end())
    one.ref = ref->second;
  if (const auto name = annotations.find("io.containerd.image.name"); name != annotations.end())
    one.name = name->second;
  return one;
}

Result<std::vector<Descriptor>> descriptors(const Fields& fields, const char* name) {
  COVE_TRY(const Json list, fields.array(name, kMostLayers));
  std::vector<Descriptor> all;
  for (const Json& json : list) {
    COVE_TRY(Descriptor one, descriptor_from(json, std::string("an element of '") + name + "'"));
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace

Platform host_platform() {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kNames{{{"x86_64", "amd64"},
                                                                                 {"aarch64", "arm64"},
                                                                                 {"armv7l", "arm"},
                                                                                 {"i686", "386"},
                                                                                 {"ppc64le", "ppc64le"},
                                                                                 {"s390x", "s390x"},
                                                                                 {"riscv64", "riscv64"},
                                                                                 {"mips64", "mips64le"},
                                                                                 {"loongarch64", "loong64"}}};
  utsname machine{};
  uname(&machine);
  const std::string_view name = machine.machine;
  for (const auto& [ours, oci] : kNames) {
    if (name == ours) return {.os = "linux", .architecture = std::string(oci), .variant = oci == "arm" ? "v7" : ""};
  }
  return {.os = "linux", .architecture = std::string(name), .variant = ""};
}

Result<Platform> parse_platform(std::string_view text) {
  const std::size_t first = text.find('/'), second = text.find('/', first == text.npos ? first : first + 1);
  if (first == 0 || first == text.npos || first + 1 >= text.size())
    return fail(Errc::invalid,
                "'" + std::string(text) + "' is no platform: OS/ARCHITECTURE[/VARIANT], as in linux/arm64");
  Platform platform{.os = std::string(text.substr(0, first)),
                    .architecture = std::string(text.substr(first + 1, second - first - 1)),
                    .variant = second == text.npos ? "" : std::string(text.substr(second + 1))};
  return platform;
}

std::string text(const Platform& platform) {
  return platform.os + "/" + platform.architecture + (platform.variant.empty() ? "" : "/" + platform.variant);
}

bool is_index(std::string_view media_type) { return media_type == kOciIndex || media_type == kDockerList; }
bool is_manifest(std::string_view media_type) { return media_type == kOciManifest || media_type == kDockerManifest; }

Result<Manifest> manifest_from_json(std::string_view text) {
  COVE_TRY(const Json json, parse_object(text, "the manifest"));
  const Fields fields(json, "the manifest");
  COVE_TRY(const std::uint64_t version, fields.number("schemaVersion"));
  if (version != 2) return fields.wrong("schemaVersion", "is not 2: images that old cannot be read");
  Manifest manifest;
  COVE_TRY(manifest.media_type, fields.text("mediaType"));
  COVE_TRY(const Json config, fields.object("config"));
  COVE_TRY(manifest.config, descriptor_from(config, "the manifest's config"));
  COVE_TRY(manifest.layers, descriptors(fields, "layers"));
  return manifest;
}

Result<std::vector<Descriptor>> index_from_json(std::string_view text) {
  COVE_TRY(const Json json, parse_object(text, "the index"));
  return descriptors(Fields(json, "the index"), "manifests");
}

Result<Descriptor> choose(const std::vector<Descriptor>& entries, const Platform& platform) {
  if (entries.size() == 1 && entries[0].platform.architecture.empty()) return entries[0];
  const Descriptor* found = nullptr;
  std::string there;
  for (const Descriptor& one : entries) {
    there += (there.empty() ? "" : ", ") + image::text(one.platform);
    if (one.platform.os != platform.os || one.platform.architecture != platform.architecture) continue;
    if (one.platform.variant == platform.variant) return one;
    if (found == nullptr && (platform.variant.empty() || one.platform.variant.empty())) found = &one;
  }
  if (found != nullptr) return *found;
  return fail(Errc::not_found, "the image is not there for " + image::text(platform) + ", only for " +
                                   (there.empty() ? "nothing" : there) + " (choose with --platform)");
}

}  // namespace cove::image
