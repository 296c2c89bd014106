#pragma once

#include <signal.h>

#include <stop_token>
#include <thread>

#include "base/unique_fd.h"

namespace cove::image {

// While it lives, SIGINT, SIGTERM and SIGHUP ask for a stop; a second one leaves at once, with the cursor shown and
// exit code 130. Made before any thread is, because each thread must have these signals blocked.
class StopOnSignal {
 public:
  StopOnSignal();
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

  std::stop_token token() const { return source_.get_token(); }

 private:
  void watch();

  sigset_t before_{};
  UniqueFd signals_, over_;
  std::stop_source source_;
  std::thread watcher_;
};

}  // namespace cove::image
