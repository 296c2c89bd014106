#pragma once

// From the thread that decompresses to the one that writes files: a few large pieces of memory that go round.

#include <array>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"

namespace cove::image {

class BytePipe {
 public:
  // Of the writing thread. An empty piece: the reader has gone, stop.
  std::span<std::byte> room();
  void commit(std::size_t bytes);
  void finish(Result<void> how);  // the end, or the error that the reader shall see after what was committed

  // Of the reading thread: at least one byte, 0 at the end.
  Result<std::size_t> read(std::span<std::byte> to);
  void leave();

 private:
  static constexpr std::size_t kPieces = 8, kPieceBytes = std::size_t{256} << 10;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<std::vector<std::byte>, kPieces> pieces_;
  std::array<std::size_t, kPieces> sizes_{};
  std::size_t written_ = 0, read_ = 0, offset_ = 0;  // pieces so far; of the one being read
  std::optional<Result<void>> over_;
  bool left_ = false;
};

}  // namespace cove::image
