#include "image/pull_layers.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "image/digest.h"
#include "image/fetch.h"
#include "image/layer_reader.h"

namespace cove::image {
namespace {

using namespace std::chrono_literals;

// Nothing tells when another process lets go of a lock, short of a thread that blocks on it and cannot be stopped.
constexpr auto kLookAgain = 100ms;

struct Taken {
  std::size_t index = 0;
  UniqueFd lock, part;
};

// A downloaded blob for the layer reader; ends early when asked to stop.
class PartSource : public LayerSource {
 public:
  PartSource(int fd, const std::stop_token& stop) : fd_(fd), stop_(stop) {}
  Result<std::size_t> read(std::span<std::byte> room) override {
    if (stop_.stop_requested()) return fail(Errc::cancelled, "it was interrupted");
    for (;;) {
      const ssize_t got = ::read(fd_, room.data(), room.size());
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) return fail_errno("read a downloaded layer");
    }
  }

 private:
  int fd_;
  const std::stop_token& stop_;
};

class LayerPull {
 public:
  LayerPull(Store& store, const std::vector<WantedLayer>& layers, Progress& progress, std::stop_source& ending)
      : store_(store), layers_(layers), progress_(progress), ending_(ending), stop_(ending.get_token()) {
    for (std::size_t i = 0; i < layers.size(); ++i) pending_.push_back(i);
  }

  void fetch_all(Registry registry);
  void unpack_all();
  void worker_begins() { ++workers_; }
  std::optional<Error> error() const { return error_; }

 private:
  enum class Try : unsigned char { taken, there, busy };
  bool is_there(const WantedLayer& layer) const;
  Try try_take(std::size_t index, Taken& taken);
  std::optional<Taken> take_next();
  Result<void> fetch(Registry& registry, Taken& taken);
  Result<void> unpack(const Taken& taken);
  void give_up(Error error);

  Store& store_;
  const std::vector<WantedLayer>& layers_;
  Progress& progress_;
  std::stop_source& ending_;
  const std::stop_token stop_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::size_t> pending_;  // nobody of this process is at them
  std::deque<Taken> fetched_;
  std::size_t workers_ = 0;
  std::optional<Error> error_;
};

void LayerPull::give_up(Error error) {
  const std::lock_guard lock(mutex_);
  if (!error_) error_ = std::move(error);
  ending_.request_stop();
}

// One who was killed after the layer was there may have left what it was made of.
bool LayerPull::is_there(const WantedLayer& layer) const {
  if (!store_.has_layer(layer.diff_id)) return false;
  unlink(store_.part_path(layer.blob.digest).c_str());
  return true;
}

LayerPull::Try LayerPull::try_take(std::size_t index, Taken& taken) {
  const WantedLayer& layer = layers_[index];
  if (is_there(layer)) return Try::there;
  const std::string path = store_.path() + "/locks/blob-" + layer.blob.digest.substr(kSha256.size());
  UniqueFd lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock || flock(lock.get(), LOCK_EX | LOCK_NB) < 0) return Try::busy;
  if (is_there(layer)) return Try::there;  // its last holder has just finished it
  taken = {index, std::move(lock), {}};
  return Try::taken;
}

// The first one that no other process is at: two that pull the same image begin with different layers.
std::optional<Taken> LayerPull::take_next() {
  std::unique_lock lock(mutex_);
  while (!stop_.stop_requested() && !pending_.empty()) {
    for (auto at = pending_.begin(); at != pending_.end();) {
      Taken taken;
      const std::size_t index = *at;
      const Try how = try_take(index, taken);
      if (how == Try::busy) {
        progress_.layer(index, LayerState::elsewhere, 0);
        ++at;
        continue;
      }
      at = pending_.erase(at);
      if (how == Try::taken) return taken;
      progress_.layer(index, LayerState::present, layers_[index].blob.size);
    }
    if (!pending_.empty()) changed_.wait_for(lock, stop_, kLookAgain, [] { return false; });
  }
  return std::nullopt;
}

Result<void> LayerPull::fetch(Registry& registry, Taken& taken) {
  const Descriptor& blob = layers_[taken.index].blob;
  const FetchSpec spec{
      .path = store_.part_path(blob.digest),
      .blob = blob,
      .at = [&](std::uint64_t bytes) { progress_.layer(taken.index, LayerState::fetching, bytes); },
      .note = [&](const std::string& text) { progress_.layer_note(taken.index, text); },
  };
  COVE_TRY(taken.part, fetch_blob(registry, spec, stop_));
  progress_.layer(taken.index, LayerState::fetched, blob.size);
  return {};
}

void LayerPull::fetch_all(Registry registry) {
  while (auto taken = take_next()) {
    if (auto done = fetch(registry, *taken); !done) {
      give_up(std::move(done).error());
      break;
    }
    const std::lock_guard lock(mutex_);
    fetched_.push_back(std::move(*taken));
    changed_.notify_all();
  }
  const std::lock_guard lock(mutex_);
  --workers_;
  changed_.notify_all();
}

// What unpacking refuses is not kept: its bytes are what the digest says, so that they would be refused again.
Result<void> LayerPull::unpack(const Taken& taken) {
  const WantedLayer& layer = layers_[taken.index];
  PartSource source(taken.part.get(), stop_);
  AddLayer how;
  how.expected_diff_id = layer.diff_id;
  how.progress = [&](const UnpackProgress& at) {
    progress_.layer(taken.index, LayerState::unpacking, std::min(at.read_bytes, layer.blob.size));
  };
  auto added = add_layer(store_, source, how);
  const bool refused = !added && (added.error().code == Errc::invalid || added.error().code == Errc::protocol);
  if (added || refused) unlink(store_.part_path(layer.blob.digest).c_str());
  if (!added) return fail(std::move(added).error().because("unpack layer " + layer.blob.digest));
  progress_.layer(taken.index, LayerState::done, layer.blob.size);
  return {};
}

void LayerPull::unpack_all() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return !fetched_.empty() || workers_ == 0; });
    if (fetched_.empty()) return;
    const Taken taken = std::move(fetched_.front());
    fetched_.pop_front();
    lock.unlock();
    if (!stop_.stop_requested()) {
      if (auto done = unpack(taken); !done) give_up(std::move(done).error());
    }
    lock.lock();
  }
}

}  // namespace

Result<void> pull_layers(Store& store, const Registry& registry, const std::vector<WantedLayer>& layers,
                         std::size_t parallel, Progress& progress, const std::stop_token& stop) {
  std::stop_source ending;
  const std::stop_callback passed_on(stop, [&] { ending.request_stop(); });
  LayerPull work(store, layers, progress, ending);
  {
    std::vector<std::jthread> workers;
    const std::size_t count = std::min(std::max<std::size_t>(parallel, 1), layers.size());
    for (std::size_t i = 0; i < count; ++i) work.worker_begins();
    for (std::size_t i = 0; i < count; ++i) {
      workers.emplace_back([&work, twin = registry.twin()]() mutable { work.fetch_all(std::move(twin)); });
    }
    work.unpack_all();
  }
  if (stop.stop_requested()) return fail(Errc::cancelled, "the pull was interrupted; what has come is kept");
  if (auto error = work.error()) return fail(std::move(*error));
  return {};
}

}  // namespace cove::image
