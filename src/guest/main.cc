#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "guest/guest.h"
#include "guest/init.h"
#include "guest/relay.h"
#include "os/exec.h"
#include "os/seccomp.h"

namespace {

using cove::UniqueFd;

// Private: only the user that the guest runs as may connect. Whoever waits for the name finds somebody listening.
UniqueFd listen_at(const char* path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (std::strlen(path) + 1 >= sizeof(address.sun_path)) return {};
  std::strcat(std::strcpy(address.sun_path, path), "~");
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return {};
  unlink(address.sun_path);
  const mode_t before = umask(0177);
  const bool bound = bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  umask(before);
  if (!bound || listen(socket.get(), 4) < 0 || rename(address.sun_path, path) < 0) return {};
  return socket;
}

// Where nobody else has done so: commands inherit them.
bool put_up_walls() {
  const rlimit no_core{};
  setrlimit(RLIMIT_CORE, &no_core);
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && cove::os::install_filter(cove::os::sandbox_filter());
}

// A file has no other end to hear from, and nothing to wait for.
bool has_another_end(int fd) {
  struct stat info{};
  return fstat(fd, &info) == 0 && (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode) || isatty(fd) != 0);
}

[[noreturn]] void run_machine() {
  auto ports = cove::guest::begin_machine();
  if (!ports) cove::guest::give_up(ports.error().message);
  cove::guest::Guest guest(std::move(*ports), cove::guest::command_groups());
  if (guest.run() != 0) cove::guest::give_up("the keeper broke the protocol");
  cove::guest::end_machine();
}

}  // namespace

#if defined(COVE_ADDRESS_SANITIZER)
// In a sandbox it has no environment to read options from, and may not attach to itself to look for leaks.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "detect_leaks=0:quarantine_size_mb=8"; }
#endif

// cove-guest                           speaks proto/guest.h on descriptor 3
// cove-guest --stdio [--alone]         ... on 0 and 1 (with walls of its own, and with process 1 when it ends)
// cove-guest --listen PATH [SECONDS]   ... with whoever connects there, one after the other
//                                      (ends when nobody has come in so many seconds: 60)
// cove-guest --nothing                 is run where something has to be
// /init                                as the first program of a microVM: begins it, and speaks on one of its ports
// cove-guest --relay PATH              moves bytes between 0 and 1 and such a socket
int main(int argc, char** argv) {
  // As the first process of a sandbox, or below an engine's, it is its commands' neighbour: its memory is none of their
  // business.
  const bool alone = argc == 3 && std::strcmp(argv[1], "--stdio") == 0 && std::strcmp(argv[2], "--alone") == 0;
  if (getpid() == 1 || alone || (argc > 2 && std::strcmp(argv[1], "--listen") == 0)) prctl(PR_SET_DUMPABLE, 0);
  if (alone && !put_up_walls()) {
    dprintf(2, "cove-guest: the system call filter cannot be installed: %s\n", strerror(errno));
    return 1;
  }
  if (argc == 2 && std::strcmp(argv[1], "--nothing") == 0) return 0;
  cove::os::reset_signals();
  cove::os::disregard_signal(SIGPIPE);
  cove::os::disregard_signal(SIGHUP);
  if (getpid() == 1 && std::strcmp(argv[0], "/init") == 0) run_machine();
  if (argc == 3 && std::strcmp(argv[1], "--relay") == 0) return cove::guest::relay(argv[2]);
  UniqueFd in, out, listener;
  cove::Clock::duration first_visit = std::chrono::seconds(60);
  if ((argc == 3 || argc == 4) && std::strcmp(argv[1], "--listen") == 0) {
    listener = listen_at(argv[2]);
    if (!listener) return 1;
    if (argc == 4) first_visit = std::chrono::seconds(std::strtoul(argv[3], nullptr, 10));
  } else if (argc >= 2 && std::strcmp(argv[1], "--stdio") == 0) {
    if (!has_another_end(0) || !has_another_end(1)) {
      dprintf(2, "cove-guest: --stdio needs a pipe or a socket on both sides\n");
      return 2;
    }
    in.reset(0);
    out.reset(1);
  } else {
    in.reset(3);
  }
  cove::guest::Guest guest(std::move(in), std::move(out), std::move(listener), first_visit);
  const int code = guest.run();
  if (alone) kill(1, SIGTERM);  // of no use to anybody any more
  return code;
}
