// Any bytes are a tar stream or a clean error. The sink keeps the reader's promises and touches no disk.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "guest/beneath.h"
#include "guest/tar.h"

namespace {

using namespace cove;
using namespace cove::guest;

void require(bool holds) {
  if (!holds) std::abort();
}

class Bytes final : public ByteSource {
 public:
  explicit Bytes(std::string_view bytes) : rest_(bytes) {}
  // In pieces of uneven size, as a pipe gives them.
  Result<std::size_t> read(char* to, std::size_t bytes) override {
    const std::size_t size = std::min({bytes, rest_.size(), step_ = step_ * 7 % 4093 + 1});
    std::memcpy(to, rest_.data(), size);
    rest_.remove_prefix(size);
    return size;
  }

 private:
  std::string_view rest_;
  std::size_t step_ = 1;
};

class Checker final : public TarSink {
 public:
  Result<void> begin(const TarEntry& entry) override {
    require(!open_ && entry.path.size() <= kMaxPathBytes && entry.link.size() <= kMaxPathBytes);
    require(entry.kind == TarKind::file || entry.size == 0);
    require(entry.mtime.tv_nsec >= 0 && entry.mtime.tv_nsec < 1'000'000'000);
    open_ = true;
    left_ = entry.size;
    check_path(entry.path);
    return {};
  }
  Result<void> data(std::string_view bytes) override {
    require(open_ && !bytes.empty() && bytes.size() <= left_);
    left_ -= bytes.size();
    return {};
  }
  Result<void> end() override {
    require(open_ && left_ == 0);
    open_ = false;
    return {};
  }

 private:
  // A clean path has names only, and cleaning it again changes nothing.
  static void check_path(const std::string& path) {
    const auto clean = clean_path(path);
    if (!clean) return;
    require(!clean->starts_with('/') && clean->find('\0') == std::string::npos);
    require(("/" + *clean + "/").find("/../") == std::string::npos && *clean_path(*clean) == *clean);
  }

  bool open_ = false;
  std::uint64_t left_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes source({reinterpret_cast<const char*>(data), size});
  Checker sink;
  const auto done = read_tar(source, sink);
  require(done || !done.error().message.empty());
  return 0;
}
