#include "guest/connect.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace cove::guest {
namespace {

// Connections are to this machine: they are made or refused at once, so a short wait is enough.
constexpr int kConnectWaitMs = 3000;

Result<void> finish_connect(int fd, const std::string& what) {
  pollfd wait{fd, POLLOUT, 0};
  if (poll(&wait, 1, kConnectWaitMs) <= 0) return fail(Errc::timeout, "connect to " + what + ": no answer");
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return fail(errno_error(error, "connect to " + what));
  return {};
}

Result<UniqueFd> connect_to(const sockaddr* address, socklen_t size, const std::string& what) {
  UniqueFd fd(socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fail_errno("make a socket");
  if (connect(fd.get(), address, size) < 0) {
    if (errno != EINPROGRESS && errno != EAGAIN) return fail_errno("connect to " + what);
    COVE_CHECK(finish_connect(fd.get(), what));
  }
  return fd;
}

Result<UniqueFd> connect_unix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return fail(Errc::invalid, "the socket path is too long: " + path);
  std::memcpy(address.sun_path, path.data(), path.size());
  return connect_to(reinterpret_cast<const sockaddr*>(&address), sizeof(address), path);
}

Result<UniqueFd> connect_tcp(std::string host, const std::string& port_text) {
  const int port = std::atoi(port_text.c_str());
  const std::string what = host + ":" + port_text;
  if (port < 1 || port > 65535) return fail(Errc::invalid, "there is no port " + port_text);
  if (host == "localhost") host = "127.0.0.1";
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(static_cast<std::uint16_t>(port));
  if (inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
    return connect_to(reinterpret_cast<const sockaddr*>(&v4), sizeof(v4), what);
  }
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(static_cast<std::uint16_t>(port));
  if (inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1) {
    return connect_to(reinterpret_cast<const sockaddr*>(&v6), sizeof(v6), what);
  }
  return fail(Errc::invalid, "connect to " + what + ": give an address or localhost");
}

}  // namespace

Result<UniqueFd> connect_inside(const std::vector<std::string>& target) {
  if (target.size() == 2 && target[0] == "unix") return connect_unix(target[1]);
  if (target.size() == 3 && target[0] == "tcp") return connect_tcp(target[1], target[2]);
  return fail(Errc::invalid, "connect: give tcp ADDRESS PORT or unix PATH");
}

}  // namespace cove::guest
