#pragma once

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

}  // namespace cove::cli
