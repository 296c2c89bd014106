#include "image/decompress.h"

#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

namespace cove::image {
namespace {

Failure broken(const char* why) { return fail(Errc::protocol, std::string("the layer is broken: ") + why); }

// A source with a buffer: its beginning can be looked at before it is read.
class Input {
 public:
  explicit Input(LayerSource& source) : source_(source), buffer_(std::size_t{256} << 10) {}

  // What is there, at least one byte unless the source is at its end.
  Result<std::span<const std::byte>> peek() {
    if (from_ == to_) {
      from_ = to_ = 0;
      COVE_CHECK(more());
    }
    return rest();
  }
  Result<std::span<const std::byte>> peek(std::size_t bytes) {
    while (to_ - from_ < bytes) {
      const std::size_t before = to_;
      COVE_CHECK(more());
      if (to_ == before) break;
    }
    return rest();
  }
  void consume(std::size_t bytes) { from_ += bytes; }
  std::uint64_t read_bytes() const { return total_; }

 private:
  std::span<const std::byte> rest() const { return std::span(buffer_).subspan(from_, to_ - from_); }
  Result<void> more() {
    if (from_ > 0 && to_ == buffer_.size()) {
      std::memmove(buffer_.data(), buffer_.data() + from_, to_ - from_);
      to_ -= from_;
      from_ = 0;
    }
    COVE_TRY(const std::size_t got, source_.read(std::span(buffer_).subspan(to_)));
    to_ += got;
    total_ += got;
    return {};
  }

  LayerSource& source_;
  std::vector<std::byte> buffer_;
  std::size_t from_ = 0, to_ = 0;
  std::uint64_t total_ = 0;
};

bool is_gzip(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
}

// A frame, or a frame that is to be skipped.
bool is_zstd(std::span<const std::byte> bytes) {
  if (bytes.size() < 4) return false;
  const auto magic = [&](std::size_t i) { return std::to_integer<unsigned>(bytes[i]); };
  if (magic(0) == 0x28 && magic(1) == 0xb5 && magic(2) == 0x2f && magic(3) == 0xfd) return true;
  return (magic(0) & 0xf0U) == 0x50 && magic(1) == 0x2a && magic(2) == 0x4d && magic(3) == 0x18;
}

// What people have instead of a tar that we can read; "" for everything else.
std::string_view other_format(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with(std::string_view("\xfd"
                                        "7zXZ\0",
                                        6)))
    return "compressed with xz: 'xz -d' makes it a tar";
  if (text.size() >= 10 && text.starts_with("BZh") && text.substr(4).starts_with("1AY&SY"))
    return "compressed with bzip2: 'bzip2 -d' makes it a tar";
  if (text.starts_with("PK\x03\x04")) return "a zip archive";
  return "";
}

class Plain final : public Decompressor {
 public:
  explicit Plain(Input input) : in_(std::move(input)) {}
  Result<std::size_t> read(std::span<std::byte> room) override {
    COVE_TRY(const auto bytes, in_.peek());
    const std::size_t size = std::min(room.size(), bytes.size());
    if (size > 0) std::memcpy(room.data(), bytes.data(), size);
    in_.consume(size);
    return size;
  }
  std::uint64_t read_bytes() const override { return in_.read_bytes(); }
  std::string_view media_type() const override { return "application/vnd.oci.image.layer.v1.tar"; }

 private:
  Input in_;
};

// Several members one after the other are one stream, as gzip has it.
class Gzip final : public Decompressor {
 public:
  explicit Gzip(Input input) : in_(std::move(input)) { ready_ = inflateInit2(&stream_, 15 + 16) == Z_OK; }
  ~Gzip() override { inflateEnd(&stream_); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  Result<std::size_t> read(std::span<std::byte> room) override {
    if (!ready_) return fail(Errc::busy, "there is no memory to decompress a layer");
    stream_.next_out = reinterpret_cast<Bytef*>(room.data());
    stream_.avail_out = static_cast<uInt>(room.size());
    while (stream_.avail_out == room.size()) {
      COVE_TRY(const bool over, step());
      if (over) break;
    }
    return room.size() - stream_.avail_out;
  }
  std::uint64_t read_bytes() const override { return in_.read_bytes(); }
  std::string_view media_type() const override { return "application/vnd.oci.image.layer.v1.tar+gzip"; }

 private:
  // True at the end of the last member.
  Result<bool> step() {
    COVE_TRY(const auto bytes, in_.peek());
    if (bytes.empty() && at_start_) return true;
    if (bytes.empty()) return broken("it ends in the middle of its gzip stream");
    if (at_start_ && std::to_integer<unsigned>(bytes[0]) != 0x1f) return broken("something follows its gzip stream");
    at_start_ = false;
    stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    const int result = inflate(&stream_, Z_NO_FLUSH);
    in_.consume(bytes.size() - stream_.avail_in);
    if (result == Z_OK || result == Z_BUF_ERROR) return false;
    if (result != Z_STREAM_END) return broken("its gzip stream is damaged");
    at_start_ = true;
    if (inflateReset(&stream_) != Z_OK) return broken("its gzip stream is damaged");
    return false;
  }

  Input in_;
  z_stream stream_{};
  bool ready_ = false, at_start_ = true;
};

class Zstd final : public Decompressor {
 public:
  Zstd(Input input, int window_log) : in_(std::move(input)) {
    if (stream_ != nullptr) ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, window_log);
  }
  ~Zstd() override { ZSTD_freeDStream(stream_); }
  Zstd(const Zstd&) = delete;
  Zstd& operator=(const Zstd&) = delete;

  Result<std::size_t> read(std::span<std::byte> room) override {
    if (stream_ == nullptr) return fail(Errc::busy, "there is no memory to decompress a layer");
    ZSTD_outBuffer out{room.data(), room.size(), 0};
    while (out.pos == 0) {
      COVE_TRY(const auto bytes, in_.peek());
      ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
      if (bytes.empty() && at_start_) break;
      const std::size_t result = ZSTD_decompressStream(stream_, &out, &in);
      in_.consume(in.pos);
      if (ZSTD_isError(result) != 0) return broken("its zstd stream is damaged, or needs too much memory");
      at_start_ = result == 0;
      if (bytes.empty() && out.pos == 0) return broken("it ends in the middle of its zstd stream");
    }
    return out.pos;
  }
  std::uint64_t read_bytes() const override { return in_.read_bytes(); }
  std::string_view media_type() const override { return "application/vnd.oci.image.layer.v1.tar+zstd"; }

 private:
  Input in_;
  ZSTD_DStream* stream_ = ZSTD_createDStream();
  bool at_start_ = true;
};

class FdSource final : public LayerSource {
 public:
  FdSource(int fd, std::uint64_t bytes) : fd_(fd), left_(bytes) {}
  Result<std::size_t> read(std::span<std::byte> room) override {
    const std::size_t want = static_cast<std::size_t>(std::min<std::uint64_t>(room.size(), left_));
    while (true) {
      const ssize_t n = ::read(fd_, room.data(), want);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return fail_errno("read the layer");
      left_ -= static_cast<std::uint64_t>(n);
      return static_cast<std::size_t>(n);
    }
  }

 private:
  int fd_;
  std::uint64_t left_;
};

}  // namespace

Result<std::unique_ptr<Decompressor>> make_decompressor(LayerSource& source, int window_log) {
  Input input(source);
  COVE_TRY(const auto start, input.peek(10));
  if (is_gzip(start)) return std::make_unique<Gzip>(std::move(input));
  if (is_zstd(start)) return std::make_unique<Zstd>(std::move(input), window_log);
  if (const auto format = other_format(start); !format.empty())
    return fail(Errc::invalid, "what is given is " + std::string(format) + "; tars are taken plain, gzip or zstd");
  return std::make_unique<Plain>(std::move(input));
}

std::unique_ptr<LayerSource> source_of_fd(int fd, std::uint64_t bytes) { return std::make_unique<FdSource>(fd, bytes); }

}  // namespace cove::image
