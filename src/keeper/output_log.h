#pragma once

// What one command has written: byte-exact, with the stream of every byte known, addressable by offset.
//
// Memory holds the newest bytes, in blocks. Up to kMemoryBytes that is all there is; then the oldest block goes to a
// private file, until the file holds `cap_bytes`. Past the cap blocks are dropped instead: the log keeps its first
// cap_bytes and a moving window of the newest kWindowBytes, so a reader that keeps up misses nothing and one that does
// not sees a jump in the offset. If the file cannot be written (disk full) the log behaves as if the cap were reached.
//
// Rejected: one raw file per stream (the true order is lost); a raw merged file with a list of runs in memory (a
// command that alternates streams byte by byte makes the list larger than its output). A block carries its own runs to
// the file.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "proto/messages.h"

namespace cove::keeper {

class OutputLog {
 public:
  static constexpr std::size_t kMemoryBytes = std::size_t{256} << 10;
  static constexpr std::size_t kWindowBytes = std::size_t{1} << 20;
  static constexpr std::size_t kBlockBytes = std::size_t{64} << 10;

  // How the log comes by its file: made when memory does not suffice, opened again when a log that has settled is read,
  // removed with the log. An invalid descriptor means that there is no file.
  enum class FileUse : unsigned char { make, open, remove };
  using FileAccess = std::function<UniqueFd(FileUse)>;

  OutputLog(std::uint64_t cap_bytes, FileAccess access) : cap_(cap_bytes), access_(std::move(access)) {}
  OutputLog(OutputLog&&) = default;
  ~OutputLog();

  // Before anything is appended: so much was written that is not here.
  void begin_at(std::uint64_t offset) {
    end_ = offset;
    gap_ = offset > 0;
  }

  // `keep_from`: memory keeps everything from this offset on, whatever the limits say (a live reader has not read it).
  void append(proto::Stream stream, std::string_view bytes, std::uint64_t keep_from);

  std::uint64_t end() const { return end_; }  // offset behind the last byte ever written
  bool past_cap() const { return end_ > cap_; }
  bool truncated() const { return gap_ || end_ > cap_; }
  std::size_t memory_bytes() const { return memory_bytes_; }
  std::uint64_t file_bytes() const { return file_position_; }

  // One run of one stream. `bytes` is valid until the log or the scratch changes.
  struct Piece {
    std::uint64_t offset = 0;
    proto::Stream stream = proto::Stream::out;
    std::string_view bytes;
  };
  // What is kept at `offset`, or at the next offset that is kept; nullopt: nothing from there on. At most kBlockBytes.
  std::optional<Piece> read(std::uint64_t offset, std::string& scratch) const;

  // No more output is expected for now: gives spare memory and the descriptor back.
  void settle();
  // Forgets all bytes, in memory and on disk; offsets stay.
  void drop();

 private:
  struct Block {
    std::uint64_t offset = 0;
    std::unique_ptr<char[]> data;
    std::uint32_t size = 0, capacity = 0;
    std::vector<std::uint32_t> runs;  // where a run begins, times two, plus its stream
  };
  struct StoredBlock {
    std::uint64_t offset = 0, position = 0;  // position in the file: data, then runs
    std::uint32_t size = 0, runs = 0;
  };

  Block& block_for(std::size_t bytes);
  void evict(std::uint64_t keep_from);
  void store(const Block& block, std::uint64_t cap);
  std::optional<Piece> read_memory(std::uint64_t offset) const;
  std::optional<Piece> read_file(const StoredBlock& block, std::uint64_t offset, std::string& scratch) const;

  std::uint64_t cap_;
  FileAccess access_;
  std::vector<Block> blocks_;
  std::vector<StoredBlock> stored_;
  mutable UniqueFd file_;
  bool file_failed_ = false, gap_ = false;
  std::uint64_t end_ = 0, file_position_ = 0;
  std::size_t memory_bytes_ = 0;
};

}  // namespace cove::keeper
