// The terminal as a way to whoever sits at it.

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>

#include "selftest/acts/act.h"

namespace cove::acts {
namespace {

// Types a character for whoever reads the terminal next.
Act inject(const Args&) {
  char key = 'x';
  return by_result(ioctl(0, TIOCSTI, &key), "ioctl(TIOCSTI)");
}

// The same with a bit set above the 32 that the kernel looks at, which a filter that compares 64 bits does not match
// (CVE-2019-10063).
Act inject_long(const Args&) {
  char key = 'x';
  return by_result(ioctl(0, TIOCSTI | (1UL << 32), &key), "ioctl(TIOCSTI with a high bit)");
}

// Pastes a selection, on a console.
Act paste(const Args&) {
  constexpr char kPaste = 3;
  char command = kPaste;
  if (ioctl(0, TIOCLINUX, &command) == 0) return did("ioctl(TIOCLINUX) succeeded");
  if (errno == ENOTTY) return absent("this terminal is not a console");
  return refused_by_errno("ioctl(TIOCLINUX)");
}

Act controlling(const Args&) { return by_result(open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY), "open /dev/tty"); }

// args: a terminal of the host, text.
Act scribble(const Args& args) {
  const int terminal = open(args[0].c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (terminal < 0) return refused_by_errno("open " + args[0]);
  return by_result(write(terminal, args[1].data(), args[1].size()), "write to " + args[0]);
}

constexpr Entry kTerminalEntries[] = {
    {"inject", inject},           {"inject_long", inject_long}, {"paste", paste},
    {"controlling", controlling}, {"scribble", scribble},
};

}  // namespace

std::span<const Entry> terminal_acts() { return kTerminalEntries; }

}  // namespace cove::acts
