#pragma once

#include <unistd.h>

#include <mutex>
#include <string>

#include "base/error.h"
#include "base/unique_fd.h"

namespace cove {

struct LaunchSocket {
  UniqueFd ours, theirs;
};
Result<LaunchSocket> make_launch_socket();  // proto/launch.h

// Keepers that wait for their request, so that a sandbox need not wait for the start of a program. A process that makes
// its second sandbox gets a nursery: `cove keeper` that has started once and gives birth by fork, one ahead. It is
// there for as long as its keepers would be as those that this process could start itself (surroundings.h), and not
// longer than this process.
class Nursery {
 public:
  static Nursery& of_this_process();

  // The launch socket of a keeper; none: it has to be started otherwise.
  UniqueFd take();
  // One ahead, for a sandbox of this kind.
  void prepare(const std::string& backend);
  // Until the next sandbox there is none.
  void close();

 private:
  void begin();
  void order(const std::string& backend);
  void leave();

  const pid_t pid_ = getpid();
  std::mutex mutex_;
  std::string surroundings_;  // of the last sandbox that was asked for
  UniqueFd orders_;           // to the nursery; none: there is none
  UniqueFd waiting_;          // to the keeper that is ahead
};

}  // namespace cove
