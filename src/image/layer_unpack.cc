#include "image/layer_unpack.h"

#include <atomic>
#include <exception>
#include <thread>

#include "image/byte_pipe.h"
#include "image/decompress.h"
#include "image/digest.h"
#include "image/layer_tree.h"

namespace cove::image {
namespace {

// In a thread of its own: reads, decompresses, hashes, watches the limits.
class Feeder {
 public:
  Feeder(LayerSource& source, const UnpackLimits& limits)
      : source_(source), limits_(limits), thread_([this] { run(); }) {}
  ~Feeder() {
    pipe.leave();
    thread_.join();
  }
  Feeder(const Feeder&) = delete;
  Feeder& operator=(const Feeder&) = delete;

  BytePipe pipe;
  std::atomic<std::uint64_t> read_bytes{0}, bytes{0};
  // After the pipe has given its end.
  std::string diff_id() { return hash_.digest(); }
  std::string media_type;

 private:
  void run() {
    try {
      pipe.finish(feed());
    } catch (const std::exception& error) {
      pipe.finish(fail(Errc::internal, std::string("decompress the layer: ") + error.what()));
    }
  }

  Result<void> feed() {
    COVE_TRY(const auto input, make_decompressor(source_, limits_.window_log));
    media_type = input->media_type();
    while (true) {
      const std::span<std::byte> room = pipe.room();
      if (room.empty()) return {};
      COVE_TRY(const std::size_t got, input->read(room));
      if (got == 0) return {};
      hash_.update(room.first(got));
      bytes += got;
      read_bytes = input->read_bytes();
      COVE_CHECK(check_limits());
      pipe.commit(got);
    }
  }

  Result<void> check_limits() const {
    if (bytes > limits_.bytes)
      return fail(Errc::invalid, "the layer has more than " + std::to_string(limits_.bytes) + " bytes");
    if (bytes > limits_.free_bytes && bytes / limits_.ratio > read_bytes)
      return fail(Errc::invalid, "the layer grows more than " + std::to_string(limits_.ratio) +
                                     " times when it is decompressed: refused as a bomb");
    return {};
  }

  LayerSource& source_;
  UnpackLimits limits_;
  Sha256 hash_;
  std::thread thread_;
};

// The reader's side of the pipe.
class Stream final : public guest::ByteSource {
 public:
  Stream(Feeder& feeder, const LayerTree& tree, const std::function<void(const UnpackProgress&)>& progress)
      : feeder_(feeder), tree_(tree), progress_(progress) {}
  Result<std::size_t> read(char* to, std::size_t bytes) override {
    if (progress_) progress_({.read_bytes = feeder_.read_bytes, .bytes = feeder_.bytes, .entries = tree_.entries()});
    return feeder_.pipe.read(std::as_writable_bytes(std::span(to, bytes)));
  }

 private:
  Feeder& feeder_;
  const LayerTree& tree_;
  const std::function<void(const UnpackProgress&)>& progress_;
};

}  // namespace

Result<Unpacked> unpack_layer(int tree, LayerSource& source, const UnpackLimits& limits,
                              const std::function<void(const UnpackProgress&)>& progress) {
  LayerTree sink(tree, limits, os::find_users());
  Feeder feeder(source, limits);
  Stream stream(feeder, sink, progress);
  COVE_CHECK(guest::read_tar(stream, sink));
  COVE_CHECK(sink.finish());
  return Unpacked{.diff_id = feeder.diff_id(),
                  .file_bytes = sink.file_bytes(),
                  .entries = sink.entries(),
                  .media_type = feeder.media_type};
}

}  // namespace cove::image
