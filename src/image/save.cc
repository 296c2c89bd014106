#include <unistd.h>
#include <zlib.h>

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/json_text.h"
#include "guest/tar.h"
#include "image/archives.h"
#include "image/digest.h"
#include "image/files.h"
#include "image/json_fields.h"

namespace cove::image {
namespace {

constexpr int kLevel = 5;  // much of gzip -6's size in two thirds of its time

// Bytes on their way into a file, compressed or not, with the digests of both.
class BlobWriter {
 public:
  enum class Compress : unsigned char { no, yes };
  BlobWriter(int fd, Compress compress) : fd_(fd), compress_(compress == Compress::yes), out_(std::size_t{128} << 10) {
    if (compress_) ready_ = deflateInit2(&stream_, kLevel, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK;
  }
  ~BlobWriter() {
    if (compress_) deflateEnd(&stream_);
  }
  BlobWriter(const BlobWriter&) = delete;
  BlobWriter& operator=(const BlobWriter&) = delete;

  Result<void> write(std::string_view bytes) {
    plain_.update(bytes);
    return compress_ ? deflate_all(bytes, Z_NO_FLUSH) : put(bytes);
  }
  Result<void> finish() { return compress_ ? deflate_all({}, Z_FINISH) : Result<void>(); }

  std::string plain_digest() { return plain_.digest(); }
  std::string digest() { return blob_.digest(); }
  std::uint64_t size() const { return size_; }

 private:
  Result<void> deflate_all(std::string_view bytes, int flush) {
    if (!ready_) return fail(Errc::busy, "there is no memory to compress a layer");
    stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(out_.data());
      stream_.avail_out = static_cast<uInt>(out_.size());
      deflate(&stream_, flush);
      COVE_CHECK(put({out_.data(), out_.size() - stream_.avail_out}));
    } while (stream_.avail_out == 0);
    return {};
  }
  Result<void> put(std::string_view bytes) {
    blob_.update(bytes);
    size_ += bytes.size();
    return write_bytes(fd_, bytes, "write a layer into the store's spool file");
  }

  int fd_;
  bool compress_, ready_ = false;
  z_stream stream_{};
  std::vector<char> out_;
  Sha256 plain_, blob_;
  std::uint64_t size_ = 0;
};

struct Blob {
  std::string diff_id, digest;
  std::uint64_t size = 0;
};

class Saver {
 public:
  Saver(const Store& store, const ArchiveSpec& spec, const LayerSink& out) : store_(store), spec_(spec), tar_(out) {}

  Result<void> run() {
    if (is_oci()) COVE_CHECK(put("oci-layout", R"({"imageLayoutVersion":"1.0.0"})"));
    for (const auto& parts : spec_.layers) COVE_CHECK(put_layer(parts));
    const std::string config = this->config();
    if (is_oci()) COVE_CHECK(finish_oci(config));
    COVE_CHECK(finish_docker(config));
    return tar_.finish();
  }

 private:
  bool is_oci() const { return spec_.format == ArchiveFormat::oci; }
  std::string layer_path(const Blob& blob) const {
    const std::string hex = blob.digest.substr(kSha256.size());
    return is_oci() ? "blobs/sha256/" + hex : hex + "/layer.tar";
  }

  // A tar says an entry's size before its bytes: so once through a file.
  Result<void> put_layer(const std::vector<TreePart>& parts) {
    COVE_TRY(const UniqueFd spool, make_spool(store_));
    using Compress = BlobWriter::Compress;
    BlobWriter writer(spool.get(), is_oci() ? Compress::yes : Compress::no);
    std::uint64_t total = 0;
    const auto sink = [&](std::string_view bytes) -> Result<void> {
      total += bytes.size();
      if (spec_.progress) COVE_CHECK(spec_.progress(blobs_.size(), total));
      return writer.write(bytes);
    };
    COVE_CHECK(write_layer(parts, sink));
    COVE_CHECK(writer.finish());
    Blob blob{.diff_id = writer.plain_digest(), .digest = writer.digest(), .size = writer.size()};
    if (written_.insert(blob.digest).second) COVE_CHECK(copy(spool.get(), layer_path(blob), blob.size));
    blobs_.push_back(std::move(blob));
    return {};
  }

  Result<void> copy(int fd, const std::string& path, std::uint64_t size) {
    if (lseek(fd, 0, SEEK_SET) < 0) return fail_errno("read the spool file");
    COVE_CHECK(tar_.begin({.path = path, .size = size, .mode = 0644}));
    std::vector<char> buffer(guest::kIoBytes);
    for (std::uint64_t left = size; left > 0;) {
      COVE_TRY(const std::size_t got, guest::read_some(fd, buffer.data(), buffer.size(), "read the spool file"));
      if (got == 0) return fail(Errc::internal, "the spool file is too short");
      COVE_CHECK(tar_.data({buffer.data(), got}));
      left -= got;
    }
    return tar_.end();
  }

  Result<void> put(const std::string& path, const std::string& text) {
    COVE_CHECK(tar_.begin({.path = path, .size = text.size(), .mode = 0644}));
    COVE_CHECK(tar_.data(text));
    return tar_.end();
  }

  std::string config() const {
    OciConfig all{.config = spec_.config, .diff_ids = {}, .created = spec_.created};
    for (const Blob& blob : blobs_) all.diff_ids.push_back(blob.diff_id);
    return oci_config_to_json(all);
  }

  Result<Json> put_blob(std::string_view media_type, const std::string& text) {
    const std::string digest = sha256_of(text);
    COVE_CHECK(put("blobs/sha256/" + digest.substr(kSha256.size()), text));
    return Json{{"mediaType", media_type}, {"digest", digest}, {"size", text.size()}};
  }

  Result<void> finish_oci(const std::string& config) {
    Json layers = Json::array();
    for (const Blob& blob : blobs_)
      layers.push_back({{"mediaType", kOciLayerGzip}, {"digest", blob.digest}, {"size", blob.size}});
    COVE_TRY(const Json config_blob, put_blob(kOciConfig, config));
    const Json manifest{{"schemaVersion", 2}, {"mediaType", kOciManifest}, {"config", config_blob}, {"layers", layers}};
    COVE_TRY(Json entry, put_blob(kOciManifest, json_text(manifest)));
    entry["platform"] = {{"os", spec_.config.os}, {"architecture", spec_.config.architecture}};
    entry["annotations"] = {{"org.opencontainers.image.ref.name", spec_.name},
                            {"io.containerd.image.name", spec_.name}};
    const Json index{{"schemaVersion", 2}, {"mediaType", kOciIndex}, {"manifests", Json::array({entry})}};
    return put("index.json", json_text(index));
  }

  Result<void> finish_docker(const std::string& config) {
    const std::string hex = sha256_of(config).substr(kSha256.size());
    const std::string path = is_oci() ? "blobs/sha256/" + hex : hex + ".json";
    if (!is_oci()) COVE_CHECK(put(path, config));
    Json layers = Json::array();
    for (const Blob& blob : blobs_) layers.push_back(layer_path(blob));
    const Json one{{"Config", path}, {"RepoTags", {spec_.name}}, {"Layers", layers}};
    return put("manifest.json", json_text(Json::array({one})));
  }

  const Store& store_;
  const ArchiveSpec& spec_;
  guest::TarWriter tar_;
  std::vector<Blob> blobs_;
  std::set<std::string> written_;
};

}  // namespace

Result<void> write_archive(const Store& store, const ArchiveSpec& spec, const LayerSink& out) {
  ArchiveSpec whole = spec;
  if (whole.config.os.empty()) whole.config.os = "linux";
  if (whole.config.architecture.empty()) whole.config.architecture = host_platform().architecture;
  return Saver(store, whole, out).run();
}

Result<void> save_image(const Store& store, const Image& image, ArchiveFormat format, const LayerSink& out) {
  COVE_TRY(const UniqueFd held, store.hold());
  ArchiveSpec spec{
      .name = image.name, .created = image.created, .config = image.config, .format = format, .progress = nullptr};
  for (const std::string& diff_id : image.layers) {
    if (!store.has_layer(diff_id)) return fail(Errc::not_found, "layer " + diff_id + " is gone: pull or load it again");
    spec.layers.push_back({{.tree = store.layer_path(diff_id), .kind = TreeKind::overlay, .at = ""}});
  }
  return write_archive(store, spec, out);
}

}  // namespace cove::image
