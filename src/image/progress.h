#pragma once

// What a pull tells while it goes on. Called from several threads.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cove::image {

enum class LayerState : unsigned char {
  waiting,
  elsewhere,  // another process is at it
  fetching,
  fetched,  // all bytes are here and verified; to be unpacked
  unpacking,
  done,
  present,  // it was there before
};

struct ProgressLayer {
  std::string digest;      // of the blob
  std::uint64_t size = 0;  // in bytes, as it is fetched
};

class Progress {
 public:
  virtual ~Progress() = default;
  // Once, when the manifest is known; layers are told apart by their place in the list from then on.
  virtual void start(const std::string& name, const std::vector<ProgressLayer>& layers) = 0;
  // `bytes`: fetched, or of the fetched ones unpacked.
  virtual void layer(std::size_t index, LayerState state, std::uint64_t bytes) = 0;
  virtual void note(const std::string& text) = 0;
  virtual void layer_note(std::size_t index, const std::string& text) = 0;
};

// These are in cli/. One bar for each layer, on a terminal. Destroying it gives the cursor back.
std::unique_ptr<Progress> make_terminal_progress(int fd);
// A line for everything that happens.
std::unique_ptr<Progress> make_plain_progress(int fd);
std::unique_ptr<Progress> make_no_progress();

// What a handler of signals may write to give the cursor back.
inline constexpr char kShowCursor[] = "\x1b[?25h";

}  // namespace cove::image
