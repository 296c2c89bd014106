#include "os/pty.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>

#include <cerrno>
#include <string>

namespace cove::os {
namespace {

// gVisor and kernels before 4.13 do not know the other way.
UniqueFd open_by_number(int master) {
  unsigned number = 0;
  if (ioctl(master, TIOCGPTN, &number) < 0) return {};
  const std::string path = "/dev/pts/" + std::to_string(number);
  return UniqueFd(open(path.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC));
}

}  // namespace

Result<Pty> open_pty(std::uint16_t rows, std::uint16_t columns) {
  Pty pty;
  pty.master.reset(open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
  int locked = 0;
  if (!pty.master || ioctl(pty.master.get(), TIOCSPTLCK, &locked) < 0) return fail_errno("open a pseudo terminal");
  // By descriptor, not by /dev/pts/N: inside a container that path may belong to another instance of devpts.
  pty.slave.reset(ioctl(pty.master.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!pty.slave && (errno == ENOTTY || errno == EINVAL)) pty.slave = open_by_number(pty.master.get());
  if (!pty.slave) return fail_errno("open the other end of a pseudo terminal");
  COVE_CHECK(resize_pty(pty.master.get(), rows, columns));
  return pty;
}

Result<void> resize_pty(int master, std::uint16_t rows, std::uint16_t columns) {
  winsize size{};
  size.ws_row = rows;
  size.ws_col = columns;
  if (ioctl(master, TIOCSWINSZ, &size) < 0) return fail_errno("resize the terminal");
  return {};
}

}  // namespace cove::os
