#include "cli/signals.h"

#include <unistd.h>

#include <csignal>

namespace cove::cli {
namespace {

// A handler has no other way to its object. Control::interrupt is an atomic store and a write(2).
Control* watched = nullptr;
volatile std::sig_atomic_t seen = 0;

void on_signal(int) {
  if (seen != 0) _exit(130);
  seen = 1;
  if (watched != nullptr) watched->interrupt();
}

void handle(void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction old{};
    // What a parent like nohup ignores stays ignored.
    if (sigaction(number, nullptr, &old) == 0 && old.sa_handler == SIG_IGN) continue;
    sigaction(number, &action, nullptr);
  }
}

}  // namespace

InterruptOnSignal::InterruptOnSignal(Control& control) {
  watched = &control;
  seen = 0;
  handle(on_signal);
}

InterruptOnSignal::~InterruptOnSignal() {
  handle(SIG_DFL);
  watched = nullptr;
}

}  // namespace cove::cli
