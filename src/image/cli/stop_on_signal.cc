#include "image/cli/stop_on_signal.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "image/progress.h"

namespace cove::image {
namespace {

// What a parent like nohup ignores stays ignored; blocked, it would arrive all the same.
sigset_t wanted_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction old{};
    if (sigaction(number, nullptr, &old) == 0 && old.sa_handler != SIG_IGN) sigaddset(&set, number);
  }
  return set;
}

}  // namespace

StopOnSignal::StopOnSignal() {
  const sigset_t set = wanted_signals();
  pthread_sigmask(SIG_BLOCK, &set, &before_);
  signals_.reset(signalfd(-1, &set, SFD_CLOEXEC));
  over_.reset(eventfd(0, EFD_CLOEXEC));
  watcher_ = std::thread([this] { watch(); });
}

StopOnSignal::~StopOnSignal() {
  eventfd_write(over_.get(), 1);
  watcher_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void StopOnSignal::watch() {
  for (;;) {
    pollfd both[] = {{signals_.get(), POLLIN, 0}, {over_.get(), POLLIN, 0}};
    if (poll(both, 2, -1) < 0) continue;
    if ((both[1].revents & POLLIN) != 0) return;
    signalfd_siginfo info{};
    if (read(signals_.get(), &info, sizeof(info)) != sizeof(info)) continue;
    if (source_.request_stop()) continue;
    if (isatty(STDERR_FILENO) != 0) {
      [[maybe_unused]] const auto n = write(STDERR_FILENO, kShowCursor, sizeof(kShowCursor) - 1);
    }
    _exit(130);
  }
}

}  // namespace cove::image
