#pragma once

// Images as files: what `docker save`, `podman save`, skopeo and buildkit write, and what docker and podman load.

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "image/layer_reader.h"
#include "image/layer_writer.h"
#include "image/oci.h"
#include "image/store.h"

namespace cove::image {

struct LoadSpec {
  std::string name;      // instead of what the archive says; only if it holds one image
  std::string fallback;  // if the archive says no name, or a tag only
  Platform platform = host_platform();
  UnpackLimits limits;
  std::function<void(const UnpackProgress&)> progress;
  // Asked before any layer is unpacked; its error refuses the archive.
  std::function<Result<void>(const ImageConfig&)> check;
};

// docker-archive (manifest.json) or OCI archive (oci-layout, index.json), plain or gzip or zstd outside. A regular file
// is read in place; anything else is first copied into a file of the store that has no name. Config and manifest are
// checked by their digests, every layer by the diff id that the config says. All images, or none, get their names.
Result<std::vector<Image>> load_archive(Store& store, int fd, const LoadSpec& spec);

// One layer becomes an image: a root file system as a tar, or as a directory.
struct ImportSpec {
  std::string name;
  ImageConfig config;  // os and architecture: this machine's, if empty
  UnpackLimits limits;
};
Result<Image> import_tar(Store& store, LayerSource& tar, const ImportSpec& spec);
Result<Image> import_directory(Store& store, const std::string& directory, const ImportSpec& spec);

enum class ArchiveFormat : unsigned char {
  oci,     // which also says what docker asks for: engines before 25 look for nothing else
  docker,  // without compression, as 'docker save' was for long
};
// Layers are written anew from their trees, so their digests, and the image's, can be others than those that it came
// with; the same image gives the same bytes again.
Result<void> save_image(const Store& store, const Image& image, ArchiveFormat format, const LayerSink& out);

// The same of trees that need not be in the store.
struct ArchiveSpec {
  std::string name, created;
  ImageConfig config;
  std::vector<std::vector<TreePart>> layers;  // bottom first
  ArchiveFormat format = ArchiveFormat::oci;
  // Bytes of the layer's tar, now and then; an error ends the work.
  std::function<Result<void>(std::size_t layer, std::uint64_t bytes)> progress;
};
Result<void> write_archive(const Store& store, const ArchiveSpec& spec, const LayerSink& out);

// A file of the store that has no name: gone with its descriptor.
Result<UniqueFd> make_spool(const Store& store);

}  // namespace cove::image
