#include <chrono>
#include <mutex>

#include "cli/print.h"
#include "image/bars.h"
#include "image/fetch.h"

namespace cove::image {
namespace {

using Clock = std::chrono::steady_clock;

class PlainProgress : public Progress {
 public:
  explicit PlainProgress(int fd) : fd_(fd) {}

  void start(const std::string& name, const std::vector<ProgressLayer>& layers) override {
    const std::lock_guard lock(mutex_);
    std::uint64_t all = 0;
    for (const ProgressLayer& layer : layers) {
      layers_.push_back({layer, LayerState::waiting, {}});
      all += layer.size;
    }
    line(name + ": " + std::to_string(layers.size()) + (layers.size() == 1 ? " layer, " : " layers, ") +
         human_bytes(all));
  }
  void layer(std::size_t index, LayerState state, std::uint64_t) override {
    const std::lock_guard lock(mutex_);
    Row& row = layers_.at(index);
    if (row.state == state) return;
    row.state = state;
    if (state == LayerState::fetching) row.since = Clock::now();
    if (const std::string words = words_for(row); !words.empty()) line(short_digest(row.layer.digest) + ": " + words);
  }
  void note(const std::string& text) override {
    const std::lock_guard lock(mutex_);
    line(text);
  }
  void layer_note(std::size_t index, const std::string& text) override {
    const std::lock_guard lock(mutex_);
    line(short_digest(layers_.at(index).layer.digest) + ": " + text);
  }

 private:
  struct Row {
    ProgressLayer layer;
    LayerState state;
    Clock::time_point since;
  };

  static std::string words_for(const Row& row) {
    switch (row.state) {
      case LayerState::elsewhere: return "another process is fetching it";
      case LayerState::fetched:
        return "fetched " + human_bytes(row.layer.size) + " in " +
               human_time(std::chrono::ceil<std::chrono::seconds>(Clock::now() - row.since));
      case LayerState::done: return "unpacked";
      case LayerState::present: return "already there";
      default: return "";
    }
  }
  void line(const std::string& text) const { cli::write_all(fd_, text + "\n"); }

  const int fd_;
  std::mutex mutex_;
  std::vector<Row> layers_;
};

class NoProgress : public Progress {
 public:
  void start(const std::string&, const std::vector<ProgressLayer>&) override {}
  void layer(std::size_t, LayerState, std::uint64_t) override {}
  void note(const std::string&) override {}
  void layer_note(std::size_t, const std::string&) override {}
};

}  // namespace

std::unique_ptr<Progress> make_plain_progress(int fd) { return std::make_unique<PlainProgress>(fd); }
std::unique_ptr<Progress> make_no_progress() { return std::make_unique<NoProgress>(); }

}  // namespace cove::image
