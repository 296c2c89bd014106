#pragma once

#include <fts.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/byte_queue.h"
#include "base/error.h"
#include "base/unique_fd.h"

struct archive;

namespace cove {

// A file or directory of the host as a tar stream, made piece by piece as it is asked for; memory is one piece.
class TarSource {
 public:
  // Entries are called `as`, `as/...`. A symlink given as `host` is followed, one below it is kept.
  static Result<TarSource> open(const std::string& host, const std::string& as);
  TarSource(TarSource&&) noexcept;
  ~TarSource();

  // Fills the front of the span; 0 at the end.
  Result<std::size_t> pull(std::span<char> space);
  // What a tar stream to a sandbox does not carry: sockets, pipes, devices; a sentence each.
  std::vector<std::string> take_skipped() { return std::move(state_->skipped); }

 private:
  struct State {
    ~State();
    FTS* tree = nullptr;
    archive* writer = nullptr;
    ByteQueue made;
    UniqueFd content;
    std::size_t root_bytes = 0;
    std::string as;
    std::vector<std::string> skipped;
    bool done = false;
  };
  TarSource() = default;
  Result<void> step();
  Result<void> next_entry();
  Result<void> write_header(const FTSENT& node);
  Result<void> copy_content();

  std::unique_ptr<State> state_;
};

}  // namespace cove
