#pragma once

// A tar of our own: the guest is static and tiny, libarchive is ten times its size.
//
//   read_tar    bytes -> entries: ustar, pax (x, g), GNU (L, K, base-256), v7
//   TarWriter   entries -> bytes: ustar, with a pax header in front of what does not fit into it
//
// Between them stands TarSink: a tree on disk becomes entries by pack.h, entries become a tree on disk by unpack.h.
// So a copy between file systems is pack | unpack without any tar, and the fuzzer reads without touching a disk.
// Sparse and multi-volume archives are refused; devices are left out.

#include <cstdint>
#include <ctime>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/error.h"
#include "guest/fd_io.h"

namespace cove::guest {

inline constexpr std::size_t kMaxExtendedHeaderBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaxPathBytes = std::size_t{64} << 10;

enum class TarKind : unsigned char { file, directory, symlink, hardlink, fifo };

struct TarEntry {
  std::string path = {};  // as the archive has it: not to be trusted (see clean_path in beneath.h)
  TarKind kind = TarKind::file;
  std::string link = {};   // symlink: its text; hardlink: the path of an earlier entry
  std::uint64_t size = 0;  // of a file
  std::uint32_t mode = 0;  // permission, sticky and set-id bits
  std::int64_t uid = 0, gid = 0;
  timespec mtime = {};
  std::map<std::string, std::string> xattrs = {};  // by name, as the archive has them
};

// Called as: begin, for a file data until `size` bytes have come, end. After an error nothing more is called.
class TarSink {
 public:
  virtual ~TarSink() = default;
  virtual Result<void> begin(const TarEntry& entry) = 0;
  virtual Result<void> data(std::string_view bytes) = 0;
  virtual Result<void> end() = 0;
};

// Reads one archive to its end and the source to its own. An archive that just stops is an error (protocol).
Result<void> read_tar(ByteSource& source, TarSink& sink);

class TarWriter final : public TarSink {
 public:
  explicit TarWriter(int fd);
  // To whatever takes bytes, in pieces of any size.
  explicit TarWriter(std::function<Result<void>(std::string_view)> write) : write_(std::move(write)) {}
  Result<void> begin(const TarEntry& entry) override;
  Result<void> data(std::string_view bytes) override;
  Result<void> end() override;
  Result<void> finish();  // without this the archive is a truncated one

 private:
  Result<void> put(std::string_view bytes);
  Result<void> pad();
  Result<void> flush();

  std::function<Result<void>(std::string_view)> write_;
  std::string buffer_;
  std::uint64_t size_ = 0, written_ = 0;  // of the current entry
};

}  // namespace cove::guest
