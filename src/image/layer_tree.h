#pragma once

// Makes a layer's entries into a tree that an overlay takes (see layer_reader.h for what becomes of each kind).

#include <map>
#include <string>

#include "guest/tar.h"
#include "image/layer_path.h"
#include "image/layer_reader.h"
#include "os/users.h"

namespace cove::image {

inline constexpr const char* kOpaque = "user.overlay.opaque";

class LayerTree final : public guest::TarSink {
 public:
  // `root`, an empty directory that nobody else can reach, is lent for the life of this object.
  LayerTree(int root, const UnpackLimits& limits, const os::Users& users);

  Result<void> begin(const guest::TarEntry& entry) override;
  Result<void> data(std::string_view bytes) override;
  Result<void> end() override;
  // Owners, modes and times of directories, which filling them would have changed.
  Result<void> finish();

  std::uint64_t file_bytes() const { return file_bytes_; }
  std::uint64_t entries() const { return entries_; }

 private:
  struct Meta {
    std::uint32_t mode = 0755;
    std::int64_t uid = 0, gid = 0;
    timespec mtime = {};
    std::map<std::string, std::string> xattrs = {};
  };

  Result<void> check(const guest::TarEntry& entry) const;
  Result<void> make(const guest::TarEntry& entry);
  Result<void> make_file();
  Result<void> make_directory(const guest::TarEntry& entry);
  Result<void> make_symlink(const guest::TarEntry& entry);
  Result<void> make_hardlink(const guest::TarEntry& entry);
  Result<void> make_fifo(const guest::TarEntry& entry);
  Result<void> make_whiteout(const std::string& name);
  Result<void> make_missing(int parent, const std::string& name, std::string_view path);
  Result<void> remember(std::string_view path, Meta meta);
  template <class Make>
  Result<void> replacing(Make made);
  Result<void> remove_obstacle();
  Result<void> finish_name(const guest::TarEntry& entry);
  Result<void> finish_directory(const std::string& path, const Meta& meta);
  Result<void> set_owner(int fd, const char* name, std::int64_t uid, std::int64_t gid) const;
  Failure refuse(std::string_view why) const;
  Failure failed(std::string_view what) const;

  UnpackLimits limits_;
  os::Users users_;
  LayerPaths parents_, links_;
  std::map<std::string, Meta> directories_;  // by clean path
  std::size_t remembered_bytes_ = 0;
  std::uint64_t file_bytes_ = 0, entries_ = 0;

  // The entry at hand.
  Meta meta_;
  std::string path_, name_;
  int parent_ = -1;
  UniqueFd file_;
};

}  // namespace cove::image
