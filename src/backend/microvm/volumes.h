#pragma once

// Volumes of a machine, which shares no files: copied in when it begins, and back, unless they are read-only, when it
// ends and when it is asked for. What changed on the host meanwhile is never overwritten (changes/apply.h); what comes
// back is no more than the machine has room for, and what it says about owners, set-id bits and devices is dropped.

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "backend/native/plan.h"
#include "base/deadline.h"
#include "base/error.h"
#include "changes/apply.h"
#include "proto/messages.h"

namespace cove::microvm {

class Vm;

// The host's side of a transfer: what the request says, in a process of its own, with its output to the machine or its
// input from it.
enum class Way : unsigned char { there, back };
struct MovePort {
  int fd = -1;
  std::uint64_t most = UINT64_MAX;  // bytes that are taken from it
};
Result<void> move_files(const proto::FileRequest& request, Way way, const MovePort& port, Deadline deadline);

class CopiedVolume {
 public:
  CopiedVolume(native::Volume volume, std::string stage) : volume_(std::move(volume)), stage_(std::move(stage)) {}
  Result<void> copy_in(Vm& vm, Deadline deadline);
  // See Place::sync_volumes.
  Result<std::vector<std::string>> copy_back(Vm& vm, Deadline deadline);
  bool is_read_only() const { return volume_.read_only; }

 private:
  struct Known {
    mode_t mode = 0;
    std::uint64_t size = 0;
    std::int64_t mtime_ns = 0;
    std::string link;
    friend bool operator==(const Known&, const Known&) = default;
  };
  using Listing = std::map<std::string, Known>;
  static Result<Listing> list(const std::string& directory);
  Result<void> keep_changes_only(const Listing& now) const;
  void know(Listing now, const changes::Applied& applied);

  native::Volume volume_;
  std::string stage_;  // a directory of its own for what comes back
  Listing known_;      // as it was on both sides last
  timespec began_{};
  std::vector<changes::Written> written_;
};

}  // namespace cove::microvm
