// Sockets of every kind. What listens outside knows whether somebody came.

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "selftest/acts/act.h"

namespace cove::acts {
namespace {

constexpr int kWaitMs = 2000;

struct Address {
  sockaddr_storage bytes{};
  socklen_t size = 0;
};

bool to_address(const std::string& host, const std::string& port, Address& out) {
  const auto number = htons(static_cast<std::uint16_t>(std::stoi(port)));
  auto* four = reinterpret_cast<sockaddr_in*>(&out.bytes);
  auto* six = reinterpret_cast<sockaddr_in6*>(&out.bytes);
  if (inet_pton(AF_INET, host.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = number;
    out.size = sizeof(*four);
    return true;
  }
  out = {};
  if (inet_pton(AF_INET6, host.c_str(), &six->sin6_addr) != 1) return false;
  six->sin6_family = AF_INET6;
  six->sin6_port = number;
  out.size = sizeof(*six);
  return true;
}

// Connects within kWaitMs; a descriptor, or -1 and errno.
int connect_in_time(int family, int type, const sockaddr* address, socklen_t size) {
  const int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  if (connect(fd, address, size) == 0) return fd;
  pollfd wait{fd, POLLOUT, 0};
  int error = errno;
  if (error == EINPROGRESS && poll(&wait, 1, kWaitMs) == 1) {
    socklen_t length = sizeof(error);
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
    if (error == 0) return fd;
  }
  close(fd);
  errno = error == EINPROGRESS ? ETIMEDOUT : error;
  return -1;
}

// args: address, port.
Act tcp(const Args& args) {
  Address to;
  if (!to_address(args[0], args[1], to)) return absent("not an address: " + args[0]);
  const int fd = connect_in_time(to.bytes.ss_family, SOCK_STREAM, reinterpret_cast<sockaddr*>(&to.bytes), to.size);
  return by_result(fd, "connect to " + args[0] + " port " + args[1]);
}

// args: address, port, text.
Act udp(const Args& args) {
  Address to;
  if (!to_address(args[0], args[1], to)) return absent("not an address: " + args[0]);
  const int fd = connect_in_time(to.bytes.ss_family, SOCK_DGRAM, reinterpret_cast<sockaddr*>(&to.bytes), to.size);
  if (fd < 0) return refused_by_errno("connect to " + args[0]);
  return by_result(send(fd, args[2].data(), args[2].size(), MSG_NOSIGNAL), "send to " + args[0]);
}

// args: addresses. A connected datagram socket sends nothing; it only needs a way to go.
Act route(const Args& args) {
  int error = ENETUNREACH;
  for (const std::string& host : args) {
    Address to;
    if (!to_address(host, "9", to)) continue;
    if (connect_in_time(to.bytes.ss_family, SOCK_DGRAM, reinterpret_cast<sockaddr*>(&to.bytes), to.size) >= 0)
      return did("there is a route to " + host);
    error = errno;
  }
  return refused("no route: " + errno_text(error));
}

// args: the address of a name server. Asks it for a name.
Act dns(const Args& args) {
  Address to;
  if (!to_address(args[0], "53", to)) return absent("not an address: " + args[0]);
  const int fd = connect_in_time(to.bytes.ss_family, SOCK_DGRAM, reinterpret_cast<sockaddr*>(&to.bytes), to.size);
  if (fd < 0) return refused_by_errno("connect to " + args[0]);
  const char query[] =
      "\xc0\x7e\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07"
      "example"
      "\x03"
      "com"
      "\x00\x00\x01\x00";
  if (send(fd, query, sizeof(query), MSG_NOSIGNAL) < 0) return refused_by_errno("send to " + args[0]);
  pollfd wait{fd, POLLIN, 0};
  char answer[512];
  if (poll(&wait, 1, kWaitMs) != 1) return refused("no answer from " + args[0]);
  return by_result(recv(fd, answer, sizeof(answer), 0), "ask " + args[0] + " for a name");
}

bool unix_address(const std::string& path, Address& out) {
  auto* address = reinterpret_cast<sockaddr_un*>(&out.bytes);
  if (path.size() >= sizeof(address->sun_path)) return false;
  address->sun_family = AF_UNIX;
  std::memcpy(address->sun_path, path.data(), path.size());
  if (path[0] == '@') address->sun_path[0] = '\0';
  out.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + (path[0] == '@' ? 0 : 1));
  return true;
}

// args: paths; one that begins with '@' is abstract.
Act unix_socket(const Args& args) {
  int error = ENOENT;
  for (const std::string& path : args) {
    Address to;
    if (!unix_address(path, to)) continue;
    for (const int type : {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET}) {
      if (connect_in_time(AF_UNIX, type, reinterpret_cast<sockaddr*>(&to.bytes), to.size) >= 0)
        return did("connected to " + path);
      if (errno != EPROTOTYPE) error = errno;
    }
  }
  return refused("connect: " + errno_text(error));
}

// args: path of a socket on which somebody hands out a descriptor. Takes it and reads from it.
Act take_gift(const Args& args) {
  Address to;
  if (!unix_address(args[0], to)) return absent("the path is too long");
  const int fd = connect_in_time(AF_UNIX, SOCK_STREAM, reinterpret_cast<sockaddr*>(&to.bytes), to.size);
  if (fd < 0) return refused_by_errno("connect to " + args[0]);
  pollfd wait{fd, POLLIN, 0};
  if (poll(&wait, 1, kWaitMs) != 1) return refused("connected, but nothing came");
  char byte = 0, control[CMSG_SPACE(sizeof(int))];
  iovec data{&byte, 1};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  if (recvmsg(fd, &message, MSG_CMSG_CLOEXEC) < 0) return refused_by_errno("recvmsg");
  const cmsghdr* head = CMSG_FIRSTHDR(&message);
  if (head == nullptr || head->cmsg_type != SCM_RIGHTS) return refused("no descriptor came");
  int gift = -1;
  std::memcpy(&gift, CMSG_DATA(head), sizeof(gift));
  char content[256] = {};
  return pread(gift, content, sizeof(content) - 1, 0) > 0 ? did(content) : refused_by_errno("read from the gift");
}

Act raw(const Args&) { return by_result(socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP), "socket(SOCK_RAW)"); }

Act packet(const Args&) { return by_result(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(3)), "socket(AF_PACKET)"); }

// Any device but loopback.
Act interfaces(const Args&) {
  struct if_nameindex* all = if_nameindex();
  if (all == nullptr) return refused_by_errno("list the interfaces");
  std::string found;
  for (const struct if_nameindex* each = all; each->if_index != 0; ++each) {
    if (std::strcmp(each->if_name, "lo") != 0) found += std::string(" ") + each->if_name;
  }
  if_freenameindex(all);
  return found.empty() ? refused("nothing but loopback") : did("sees" + found);
}

// Loopback is given the state it has: needs the right to change interfaces, changes nothing.
Act change_interface(const Args&) {
  const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (fd < 0) return refused_by_errno("socket(NETLINK_ROUTE)");
  struct {
    nlmsghdr head;
    ifinfomsg info;
  } request{};
  request.head.nlmsg_len = sizeof(request);
  request.head.nlmsg_type = RTM_NEWLINK;
  request.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
  request.info.ifi_family = AF_UNSPEC;
  request.info.ifi_index = 1;
  if (send(fd, &request, sizeof(request), 0) < 0) return refused_by_errno("send to netlink");
  struct {
    nlmsghdr head;
    nlmsgerr error;
    char rest[256];
  } answer{};
  if (recv(fd, &answer, sizeof(answer), 0) < 0) return refused_by_errno("netlink");
  errno = -answer.error.error;
  return by_result(errno == 0 ? 0 : -1, "change loopback by netlink");
}

constexpr Entry kNetworkEntries[] = {
    {"tcp", tcp},
    {"udp", udp},
    {"route", route},
    {"dns", dns},
    {"unix_socket", unix_socket},
    {"take_gift", take_gift},
    {"raw_socket", raw},
    {"packet_socket", packet},
    {"interfaces", interfaces},
    {"change_interface", change_interface},
};

}  // namespace

std::span<const Entry> network_acts() { return kNetworkEntries; }

}  // namespace cove::acts
