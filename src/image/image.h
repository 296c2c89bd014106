#pragma once

// What is known about one image: where it came from, its layers, and what its makers want done with it.
// Kept as JSON in the store. What stands in such a file, or in an archive's or registry's config, is hostile: an
// unknown shape is an error that names the field, and every count and length has a limit.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace cove::image {

struct ImageConfig {
  std::vector<std::string> env;  // NAME=VALUE
  std::vector<std::string> entrypoint, cmd, shell;
  std::string cwd, user;
  std::string os, architecture, variant;   // as OCI names them: linux, amd64, v8
  std::vector<std::string> exposed_ports;  // 80/tcp
  std::vector<std::string> volumes;
  std::string stop_signal;
  std::map<std::string, std::string> labels;

  bool operator==(const ImageConfig&) const = default;
};

struct Image {
  std::string name;                   // as normal_name() gives it
  std::string digest, config_digest;  // of the manifest and of the config, "sha256:..."; "" if there is none
  std::vector<std::string> layers;    // diff ids ("sha256:..."), bottom first
  std::uint64_t size = 0;             // sum of the layers' file sizes
  std::string created;                // RFC 3339, as the image says; "" if it does not
  ImageConfig config;

  bool operator==(const Image&) const = default;
};

inline constexpr std::size_t kMostLayers = 1024, kMostStrings = 65536, kMostText = std::size_t{1} << 20;

// An OCI or Docker image config: the blob that a manifest's `config` names.
struct OciConfig {
  ImageConfig config;
  std::vector<std::string> diff_ids;  // bottom first
  std::string created;
};

std::string to_json(const Image& image);
Result<Image> image_from_json(std::string_view text);
Result<OciConfig> oci_config_from_json(std::string_view text);
// One form only, so that the same image gives the same digest.
std::string oci_config_to_json(const OciConfig& config);

// "python" is "docker.io/library/python:latest": the form in which names are kept. A digest behind '@' stays.
Result<std::string> normal_name(std::string_view name);

}  // namespace cove::image
