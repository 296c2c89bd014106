#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <charconv>

#include "mcp/http.h"

namespace cove::mcp {
namespace {

struct Where {
  std::string host;
  std::uint16_t port = 0;
};

Result<Where> read_where(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  Where where{.host = colon == text.npos ? "127.0.0.1" : text.substr(0, colon)};
  const std::string port = colon == text.npos ? text : text.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), where.port);
  if (port.empty() || error != std::errc() || end != port.data() + port.size())
    return fail(Errc::invalid, "'" + text + "' is not ADDRESS:PORT, such as 127.0.0.1:8931");
  if (where.host == "localhost") where.host = "127.0.0.1";
  if (where.host.starts_with('[') && where.host.ends_with(']'))
    where.host = where.host.substr(1, where.host.size() - 2);
  return where;
}

bool is_loopback(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET)
    return ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr) >> 24 == 127;
  return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr) != 0;
}

Result<sockaddr_storage> read_address(const Where& where) {
  sockaddr_storage address{};
  auto& four = reinterpret_cast<sockaddr_in&>(address);
  auto& six = reinterpret_cast<sockaddr_in6&>(address);
  if (inet_pton(AF_INET, where.host.c_str(), &four.sin_addr) == 1) {
    address.ss_family = AF_INET;
    four.sin_port = htons(where.port);
  } else if (inet_pton(AF_INET6, where.host.c_str(), &six.sin6_addr) == 1) {
    address.ss_family = AF_INET6;
    six.sin6_port = htons(where.port);
  } else {
    return fail(Errc::invalid, "'" + where.host + "' is not an address: give a numeric one, such as 127.0.0.1");
  }
  return address;
}

}  // namespace

Result<Listening> listen_http(const std::string& text) {
  COVE_TRY(const Where where, read_where(text));
  COVE_TRY(sockaddr_storage address, read_address(where));
  socklen_t size = address.ss_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  Listening listening{.address = where.host, .loopback = is_loopback(address)};
  listening.socket.reset(socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listening.socket) return fail_errno("make a socket");
  const int fd = listening.socket.get(), on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), size) < 0 || listen(fd, 64) < 0)
    return fail_errno("listen at " + text);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) < 0) return fail_errno("listen at " + text);
  listening.port = ntohs(address.ss_family == AF_INET ? reinterpret_cast<sockaddr_in&>(address).sin_port
                                                      : reinterpret_cast<sockaddr_in6&>(address).sin6_port);
  return listening;
}

}  // namespace cove::mcp
