#include "image/byte_pipe.h"

#include <algorithm>
#include <cstring>

namespace cove::image {

std::span<std::byte> BytePipe::room() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return left_ || written_ - read_ < kPieces; });
  if (left_) return {};
  std::vector<std::byte>& piece = pieces_[written_ % kPieces];
  piece.resize(kPieceBytes);
  return piece;
}

void BytePipe::commit(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  sizes_[written_++ % kPieces] = bytes;
  changed_.notify_all();
}

void BytePipe::finish(Result<void> how) {
  const std::lock_guard lock(mutex_);
  over_ = std::move(how);
  changed_.notify_all();
}

// A piece belongs to one side at a time, so the bytes are copied without the lock.
Result<std::size_t> BytePipe::read(std::span<std::byte> to) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return written_ > read_ || over_; });
    if (written_ == read_) {
      if (!*over_) return fail(over_->error());
      return std::size_t{0};
    }
  }
  const std::size_t slot = read_ % kPieces;
  const std::size_t size = std::min(to.size(), sizes_[slot] - offset_);
  std::memcpy(to.data(), pieces_[slot].data() + offset_, size);
  offset_ += size;
  if (offset_ < sizes_[slot]) return size;
  const std::lock_guard lock(mutex_);
  offset_ = 0;
  ++read_;
  changed_.notify_all();
  return size;
}

void BytePipe::leave() {
  const std::lock_guard lock(mutex_);
  left_ = true;
  changed_.notify_all();
}

}  // namespace cove::image
