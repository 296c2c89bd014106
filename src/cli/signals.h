#pragma once

#include <csignal>
#include <stop_token>
#include <thread>

#include "base/unique_fd.h"
#include "client/cove.h"

namespace cove::cli {

// While it lives, SIGINT, SIGTERM and SIGHUP interrupt the command behind `control`; a second one leaves at once with
// exit code 130. There is one at a time.
class InterruptOnSignal {
 public:
  explicit InterruptOnSignal(Control& control);
  ~InterruptOnSignal();
  InterruptOnSignal(const InterruptOnSignal&) = delete;
  InterruptOnSignal& operator=(const InterruptOnSignal&) = delete;
};

// While it lives, the first SIGINT, SIGTERM or SIGHUP asks for an orderly end and the second one ends at once. A thread
// takes them, because what has to be done is not for a handler.
class StopOnSignal {
 public:
  StopOnSignal();
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;
  std::stop_token token() const { return source_.get_token(); }
  bool stopped() const { return source_.stop_requested(); }

 private:
  void wait();

  sigset_t before_{};
  UniqueFd signals_, over_;
  std::stop_source source_;
  std::jthread waiter_;
};

}  // namespace cove::cli
