#include "cli/signals.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
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

StopOnSignal::StopOnSignal() : over_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now{};
    if (sigaction(number, nullptr, &now) < 0 || now.sa_handler != SIG_IGN) sigaddset(&set, number);
  }
  pthread_sigmask(SIG_BLOCK, &set, &before_);
  signals_.reset(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  waiter_ = std::jthread([this] { wait(); });
}

StopOnSignal::~StopOnSignal() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto n = write(over_.get(), &one, sizeof(one));
  waiter_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void StopOnSignal::wait() {
  while (true) {
    pollfd fds[2] = {{over_.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}};
    poll(fds, 2, -1);
    signalfd_siginfo info{};
    if (read(signals_.get(), &info, sizeof(info)) > 0) {
      if (source_.stop_requested()) _exit(130);
      source_.request_stop();
    }
    if (fds[0].revents != 0) return;
  }
}

}  // namespace cove::cli
