// Any bytes are a layer or a clean error; whatever they are, nothing beside the layer's own tree changes.
// The tree stands in a directory of its own with a neighbour, and both are looked at after every input.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "image/layer_unpack.h"
#include "os/remove_tree.h"

namespace {

using namespace cove;

void require(bool holds) {
  if (!holds) std::abort();
}

class Bytes final : public image::LayerSource {
 public:
  explicit Bytes(std::string_view bytes) : rest_(bytes) {}
  Result<std::size_t> read(std::span<std::byte> room) override {
    const std::size_t size = std::min({room.size(), rest_.size(), step_ = step_ * 7 % 4093 + 1});
    if (size > 0) std::memcpy(room.data(), rest_.data(), size);
    rest_.remove_prefix(size);
    return size;
  }

 private:
  std::string_view rest_;
  std::size_t step_ = 1;
};

// In memory where there is some: DIR/tree and DIR/beside.
class Place {
 public:
  Place() {
    std::string path = access("/dev/shm", W_OK) == 0 ? "/dev/shm/cove-fuzz-XXXXXX" : "/tmp/cove-fuzz-XXXXXX";
    require(mkdtemp(path.data()) != nullptr);
    path_ = path;
    require(mkdir((path_ + "/beside").c_str(), 0755) == 0 && mkdir((path_ + "/tree").c_str(), 0700) == 0);
    tree_.reset(open((path_ + "/tree").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    folder_.reset(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    beside_.reset(open((path_ + "/beside").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    require(tree_ && folder_ && beside_);
  }
  ~Place() { require(os::remove_tree(path_).has_value()); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  int tree() const { return tree_.get(); }
  void check() const {
    struct stat info{};
    require(os::names_in(folder_.get())->size() == 2 && os::names_in(beside_.get())->empty());
    require(fstat(beside_.get(), &info) == 0 && (info.st_mode & 07777) == 0755);
  }

 private:
  std::string path_;
  UniqueFd tree_, folder_, beside_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Place place;
  Bytes source({reinterpret_cast<const char*>(data), size});
  image::UnpackLimits limits;
  limits.bytes = std::uint64_t{4} << 20;
  limits.entries = 1000;
  limits.depth = 20;
  limits.window_log = 20;
  const auto done = image::unpack_layer(place.tree(), source, limits, nullptr);
  require(done || !done.error().message.empty());
  place.check();
  return 0;
}
