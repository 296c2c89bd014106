#pragma once

// For tests: tar archives block by block, as wrong as one likes, and a store in a directory of its own.

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "guest/tar_format.h"
#include "image/layer_reader.h"
#include "os/remove_tree.h"

namespace cove::image {

struct Block {
  std::string name;
  char type = '0';
  std::string content = {};
  std::string link = {};
  unsigned mode = 0644;
  unsigned uid = 0, gid = 0;
  std::string size = {};    // the field, if it shall not be that of the content
  std::string device = {};  // major and minor
};

class TarText {
 public:
  TarText& add(const Block& block) {
    guest::TarHeader header{};
    put(header.name, block.name);
    put(header.link, block.link);
    std::snprintf(header.mode, sizeof header.mode, "%07o", block.mode);
    std::snprintf(header.uid, sizeof header.uid, "%07o", block.uid);
    std::snprintf(header.gid, sizeof header.gid, "%07o", block.gid);
    std::snprintf(header.size, sizeof header.size, "%011zo", block.content.size());
    if (!block.size.empty()) std::memcpy(header.size, block.size.data(), std::min<std::size_t>(12, block.size.size()));
    std::snprintf(header.mtime, sizeof header.mtime, "%011o", 1000000000U);
    std::memcpy(header.magic, "ustar\00000", 8);
    header.type = block.type;
    if (!block.device.empty()) {
      put(header.device_major, block.device);
      put(header.device_minor, block.device);
    }
    std::snprintf(header.checksum, sizeof header.checksum, "%06o",
                  static_cast<unsigned>(guest::checksums(header).as_unsigned));
    return raw({reinterpret_cast<const char*>(&header), sizeof header}).raw(block.content).pad();
  }
  TarText& file(std::string name, std::string content = "evil") {
    return add({.name = std::move(name), .content = std::move(content)});
  }
  TarText& directory(std::string name, unsigned mode = 0755) {
    return add({.name = std::move(name), .type = '5', .mode = mode});
  }
  TarText& symlink(std::string name, std::string to) {
    return add({.name = std::move(name), .type = '2', .link = std::move(to)});
  }
  TarText& hardlink(std::string name, std::string to) {
    return add({.name = std::move(name), .type = '1', .link = std::move(to)});
  }
  // An extended header for what follows: type x, or g.
  TarText& pax(std::string_view key, std::string_view value, char type = 'x') {
    std::string records;
    guest::append_pax(records, key, value);
    return add({.name = "PaxHeaders", .type = type, .content = records});
  }
  TarText& gnu_name(std::string name) { return add({.name = "././@LongLink", .type = 'L', .content = name + '\0'}); }
  TarText& raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  TarText& pad() { return raw(std::string((512 - bytes_.size() % 512) % 512, '\0')); }
  std::string end() const { return bytes_ + std::string(1024, '\0'); }
  std::string cut(std::size_t less) const { return bytes_.substr(0, bytes_.size() - less); }
  const std::string& open_end() const { return bytes_; }

 private:
  template <std::size_t N>
  static void put(char (&field)[N], std::string_view text) {
    std::memcpy(field, text.data(), std::min(N, text.size()));
  }
  std::string bytes_;
};

inline std::string gzipped(std::string_view bytes) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline std::string zstd_packed(std::string_view bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3));
  return out;
}

// In pieces of uneven size, as a network gives them.
class TextSource final : public LayerSource {
 public:
  explicit TextSource(std::string bytes) : bytes_(std::move(bytes)) {}
  Result<std::size_t> read(std::span<std::byte> room) override {
    step_ = step_ * 7 % 65521 + 1;
    const std::size_t size = std::min({room.size(), bytes_.size() - at_, step_});
    std::memcpy(room.data(), bytes_.data() + at_, size);
    at_ += size;
    return size;
  }

 private:
  std::string bytes_;
  std::size_t at_ = 0, step_ = 1;
};

// $COVE_HOME of a test: HOME/inner is the store's, HOME/outside is what nothing may touch.
class TestHome {
 public:
  TestHome() {
    std::string path = (std::filesystem::temp_directory_path() / "cove-image-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) std::abort();
    path_ = path;
    std::filesystem::create_directories(path_ + "/inner");
    std::filesystem::create_directories(path_ + "/outside");
    std::ofstream(path_ + "/outside/victim") << "precious";
  }
  ~TestHome() { (void)os::remove_tree(path_); }
  TestHome(const TestHome&) = delete;
  TestHome& operator=(const TestHome&) = delete;

  std::string home() const { return path_ + "/inner"; }
  std::string outside() const { return path_ + "/outside"; }
  // What is in `outside` and beside it, as text.
  std::string around() const {
    std::string text;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      text += entry.path().filename().string() + "\n";
    for (const auto& entry : std::filesystem::directory_iterator(outside())) {
      struct stat info{};
      lstat(entry.path().c_str(), &info);
      text += entry.path().filename().string() + " " + std::to_string(info.st_mode) + " " +
              std::to_string(info.st_nlink) + " " + std::to_string(info.st_size) + " " +
              std::to_string(info.st_mtim.tv_nsec) + "\n";
    }
    return text;
  }

 private:
  std::string path_;
};

inline std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline Result<Layer> add(Store& store, const std::string& bytes, const AddLayer& how = {}) {
  TextSource source(bytes);
  return add_layer(store, source, how);
}

}  // namespace cove::image
