#pragma once

// Volumes of a machine, which shares no files: copied in when it begins, and back, unless they are read-only, when it
// ends. What changed on the host meanwhile is never overwritten (changes/apply.h).

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "backend/native/plan.h"
#include "base/deadline.h"
#include "base/error.h"
#include "proto/messages.h"

namespace cove::microvm {

class Vm;

// The host's side of a transfer: what the request says, in a process of its own, with its output to the machine or its
// input from it.
enum class Way : unsigned char { there, back };
Result<void> move_files(const proto::FileRequest& request, Way way, int port, Deadline deadline);

class CopiedVolume {
 public:
  CopiedVolume(native::Volume volume, std::string stage) : volume_(std::move(volume)), stage_(std::move(stage)) {}
  Result<void> copy_in(Vm& vm, Deadline deadline);
  // A sentence for each file that could not be brought back, because the host's has changed or it is of a kind that is
  // never brought.
  Result<std::vector<std::string>> copy_back(Vm& vm, Deadline deadline);

 private:
  struct Known {
    mode_t mode = 0;
    std::uint64_t size = 0;
    std::int64_t mtime_ns = 0;
    std::string link;
    friend bool operator==(const Known&, const Known&) = default;
  };
  using Listing = std::map<std::string, Known>;
  static Listing list(const std::string& directory);
  Result<void> keep_changes_only(const std::string& tree) const;

  native::Volume volume_;
  std::string stage_;  // a directory of its own for what comes back
  Listing known_;      // as it was copied in
  timespec began_{};
};

}  // namespace cove::microvm
