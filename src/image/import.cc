#include <array>
#include <cstring>
#include <ctime>
#include <exception>
#include <thread>

#include "image/archives.h"
#include "image/byte_pipe.h"
#include "image/digest.h"

namespace cove::image {
namespace {

std::string now() {
  const std::time_t time = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&time, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

// A directory as the bytes of its tar, written by a thread of its own.
class DirectorySource final : public LayerSource {
 public:
  explicit DirectorySource(const std::string& directory) : thread_([this, directory] { run(directory); }) {}
  ~DirectorySource() override {
    pipe_.leave();
    thread_.join();
  }
  DirectorySource(const DirectorySource&) = delete;
  DirectorySource& operator=(const DirectorySource&) = delete;

  Result<std::size_t> read(std::span<std::byte> room) override { return pipe_.read(room); }

 private:
  void run(const std::string& directory) {
    try {
      pipe_.finish(write_layer(directory, TreeKind::plain, [this](std::string_view bytes) { return put(bytes); }));
    } catch (const std::exception& error) {
      pipe_.finish(fail(Errc::internal, "read " + directory + ": " + error.what()));
    }
  }

  Result<void> put(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::span<std::byte> room = pipe_.room();
      if (room.empty()) return fail(Errc::cancelled, "nobody reads the directory any more");
      const std::size_t size = std::min(room.size(), bytes.size());
      std::memcpy(room.data(), bytes.data(), size);
      pipe_.commit(size);
      bytes.remove_prefix(size);
    }
    return {};
  }

  BytePipe pipe_;
  std::thread thread_;
};

}  // namespace

Result<Image> import_tar(Store& store, LayerSource& tar, const ImportSpec& spec) {
  Image image{.created = now(), .config = spec.config};
  COVE_TRY(image.name, normal_name(spec.name));
  COVE_TRY(const UniqueFd held, store.hold());
  COVE_TRY(const Layer layer, add_layer(store, tar, {.limits = spec.limits}));
  const Platform host = host_platform();
  if (image.config.os.empty()) image.config.os = host.os;
  if (image.config.architecture.empty()) image.config.architecture = host.architecture;
  image.layers = {layer.diff_id};
  image.size = layer.size;
  image.config_digest =
      sha256_of(oci_config_to_json({.config = image.config, .diff_ids = image.layers, .created = image.created}));
  COVE_CHECK(store.put(image));
  return image;
}

Result<Image> import_directory(Store& store, const std::string& directory, const ImportSpec& spec) {
  DirectorySource source(directory);
  return import_tar(store, source, spec);
}

}  // namespace cove::image
