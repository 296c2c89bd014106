#pragma once

#include <cstring>
#include <memory>
#include <string_view>

namespace cove {

// Bytes waiting to be written or parsed: appended at the back, consumed at the front, always contiguous.
// Unlike std::string it hands out room without filling it with zeros first. An emptied queue gives large memory back.
class ByteQueue {
 public:
  std::string_view view() const { return {data_.get() + head_, tail_ - head_}; }
  std::size_t size() const { return tail_ - head_; }
  bool empty() const { return head_ == tail_; }

  // Room for `bytes` more at the back; becomes content by commit(). Invalidates views.
  char* room(std::size_t bytes) {
    if (capacity_ - tail_ < bytes) make_room(bytes);
    return data_.get() + tail_;
  }
  std::size_t spare() const { return capacity_ - tail_; }
  void commit(std::size_t bytes) { tail_ += bytes; }
  void append(std::string_view bytes) {
    if (bytes.empty()) return;
    std::memcpy(room(bytes.size()), bytes.data(), bytes.size());
    commit(bytes.size());
  }
  void consume(std::size_t bytes) {
    head_ += bytes;
    if (head_ == tail_) clear();
  }
  void clear() {
    head_ = tail_ = 0;
    if (capacity_ > kKeepBytes) data_.reset(), capacity_ = 0;
  }

 private:
  static constexpr std::size_t kKeepBytes = std::size_t{1} << 20;

  void make_room(std::size_t bytes) {
    const std::size_t used = size();
    if (head_ > 0 && capacity_ - used >= bytes && head_ >= used) {
      std::memcpy(data_.get(), data_.get() + head_, used);
    } else {
      const std::size_t want = used + bytes > capacity_ * 2 ? used + bytes : capacity_ * 2;
      std::unique_ptr<char[]> larger(new char[want]);
      if (used > 0) std::memcpy(larger.get(), data_.get() + head_, used);
      data_ = std::move(larger);
      capacity_ = want;
    }
    head_ = 0;
    tail_ = used;
  }

  std::unique_ptr<char[]> data_;
  std::size_t capacity_ = 0, head_ = 0, tail_ = 0;
};

}  // namespace cove
