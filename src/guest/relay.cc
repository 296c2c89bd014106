#include "guest/relay.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/byte_queue.h"
#include "base/deadline.h"
#include "base/unique_fd.h"

namespace cove::guest {
namespace {

using namespace std::chrono_literals;

constexpr auto kWait = 10s;
constexpr std::size_t kPiece = std::size_t{64} << 10;
constexpr std::size_t kMostHeld = std::size_t{256} << 10;

// The guest may still be on its way to its socket; a connection that is refused is its predecessor's.
UniqueFd connect_to(const char* path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (std::strlen(path) >= sizeof(address.sun_path)) return {};
  std::strcpy(address.sun_path, path);
  const Deadline deadline = Deadline::after(kWait);
  while (true) {
    UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket) return {};
    if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return socket;
    if ((errno != ENOENT && errno != ECONNREFUSED) || deadline.passed()) return {};
    usleep(2000);
  }
}

// One direction.
class Way {
 public:
  Way(int from, int to) : from_(from), to_(to) {}

  pollfd readable() const { return {!ended_ && !broken_ && held_.size() < kMostHeld ? from_ : -1, POLLIN, 0}; }
  pollfd writable() const { return {held_.empty() ? -1 : to_, POLLOUT, 0}; }
  bool over() const { return ended_ && held_.empty(); }  // all was said and passed on
  bool broken() const { return broken_; }                // nobody takes it

  void read() {
    const ssize_t n = ::read(from_, held_.room(kPiece), kPiece);
    if (n > 0) held_.commit(static_cast<std::size_t>(n));
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) ended_ = true;
  }
  void write() {
    const ssize_t n = ::write(to_, held_.view().data(), held_.size());
    if (n > 0) held_.consume(static_cast<std::size_t>(n));
    if (n >= 0 || errno == EAGAIN || errno == EINTR) return;
    broken_ = true;
    held_.clear();
  }

 private:
  int from_, to_;
  ByteQueue held_;
  bool ended_ = false, broken_ = false;
};

}  // namespace

int relay(const char* path) {
  const UniqueFd socket = connect_to(path);
  if (!socket) {
    dprintf(2, "cove-guest: cannot connect to %s: %s\n", path, strerror(errno));
    return 1;
  }
  for (const int fd : {0, 1, socket.get()}) fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  Way in(0, socket.get()), out(socket.get(), 1);
  // A guest that takes nothing any more may still have said something: only its end is the end.
  while (!in.over() && !out.over() && !out.broken()) {
    std::array<pollfd, 4> fds{in.readable(), in.writable(), out.readable(), out.writable()};
    if (poll(fds.data(), fds.size(), -1) < 0) {
      if (errno == EINTR) continue;
      return 1;
    }
    if (fds[0].revents != 0) in.read();
    if (fds[1].revents != 0) in.write();
    if (fds[2].revents != 0) out.read();
    if (fds[3].revents != 0) out.write();
  }
  return 0;
}

}  // namespace cove::guest
