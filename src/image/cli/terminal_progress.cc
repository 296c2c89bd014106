#include <sys/ioctl.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "cli/print.h"
#include "image/bars.h"

namespace cove::image {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

bool finished(LayerState state) { return state == LayerState::done || state == LayerState::present; }

// Layers that are finished are written once and scroll away; below them stand the others, drawn again ten times a
// second. So an image of more layers than the terminal has lines stays readable.
class TerminalProgress : public Progress {
 public:
  explicit TerminalProgress(int fd) : fd_(fd) {
    cli::write_all(fd_, "\x1b[?25l");
    ticker_ = std::jthread([this](const std::stop_token& stop) { tick(stop); });
  }
  ~TerminalProgress() override {
    ticker_.request_stop();
    ticker_.join();
    const std::lock_guard lock(mutex_);
    draw();
    cli::write_all(fd_, kShowCursor);
  }

  void start(const std::string& name, const std::vector<ProgressLayer>& layers) override {
    const std::lock_guard lock(mutex_);
    notes_.push_back(name);
    for (const ProgressLayer& layer : layers) rows_.push_back({{layer.digest, {}, 0, layer.size, 0}, {}, 0, false});
  }
  void layer(std::size_t index, LayerState state, std::uint64_t bytes) override {
    const std::lock_guard lock(mutex_);
    Row& row = rows_.at(index);
    if (row.bar.state != state || bytes < row.bytes_then) {
      row.since = Clock::now();
      row.bytes_then = bytes;
      row.bar.bytes_per_second = 0;
    }
    row.bar.state = state;
    row.bar.bytes = bytes;
    const std::chrono::duration<double> time = Clock::now() - row.since;
    if (time > 300ms) row.bar.bytes_per_second = static_cast<double>(bytes - row.bytes_then) / time.count();
  }
  void note(const std::string& text) override {
    const std::lock_guard lock(mutex_);
    notes_.push_back(text);
  }
  void layer_note(std::size_t index, const std::string& text) override {
    const std::lock_guard lock(mutex_);
    notes_.push_back(short_digest(rows_.at(index).bar.digest) + "  " + text);
  }

 private:
  struct Row {
    Bar bar;
    Clock::time_point since;
    std::uint64_t bytes_then = 0;
    bool written = false;
  };

  void tick(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      draw();
      changed_.wait_for(lock, stop, 100ms, [] { return false; });
    }
  }

  void draw() {
    winsize size{};
    if (ioctl(fd_, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) size = {24, 80, 0, 0};
    // A line that fills the last column wraps on some terminals.
    const std::size_t columns = size.ws_col - 1U, lines = size.ws_row > 2 ? size.ws_row - 2U : 1U;
    std::string out;
    if (drawn_ > 0) out += "\x1b[" + std::to_string(drawn_) + "F";
    out += "\x1b[J";
    for (const std::string& note : notes_) out += note.substr(0, columns) + "\n";
    notes_.clear();
    for (Row& row : rows_) {
      if (!finished(row.bar.state) || std::exchange(row.written, true)) continue;
      out += render(row.bar, columns) + "\n";
    }
    drawn_ = draw_open(columns, lines, out);
    cli::write_all(fd_, out);
  }

  // Those that move come first, where there is not room for all. The number of lines.
  std::size_t draw_open(std::size_t columns, std::size_t lines, std::string& out) const {
    std::vector<const Bar*> open;
    for (const Row& row : rows_) {
      if (!finished(row.bar.state)) open.push_back(&row.bar);
    }
    if (open.size() > lines) {
      std::stable_partition(open.begin(), open.end(), [](const Bar* b) { return b->state != LayerState::waiting; });
    }
    const std::size_t shown = open.size() > lines ? lines - 1 : open.size();
    for (std::size_t i = 0; i < shown; ++i) out += render(*open[i], columns) + "\n";
    if (shown == open.size()) return shown;
    out += ("and " + std::to_string(open.size() - shown) + " more").substr(0, columns) + "\n";
    return shown + 1;
  }

  const int fd_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<Row> rows_;
  std::vector<std::string> notes_;
  std::size_t drawn_ = 0;
  std::jthread ticker_;
};

}  // namespace

std::unique_ptr<Progress> make_terminal_progress(int fd) { return std::make_unique<TerminalProgress>(fd); }

}  // namespace cove::image
