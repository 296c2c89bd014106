#include <csignal>
#include <cstring>

#include "guest/guest.h"
#include "os/exec.h"

// cove-guest [--stdio]: speaks proto/guest.h on descriptor 3, or on 0 and 1.
int main(int argc, char** argv) {
  cove::os::reset_signals();
  cove::os::disregard_signal(SIGPIPE);
  cove::os::disregard_signal(SIGHUP);
  const bool stdio = argc > 1 && std::strcmp(argv[1], "--stdio") == 0;
  using cove::UniqueFd;
  cove::guest::Guest guest(UniqueFd(stdio ? 0 : 3), UniqueFd(stdio ? 1 : -1));
  return guest.run();
}
