#include "os/net.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/unique_fd.h"
#include "os/netlink.h"

namespace cove::os {
namespace {

Ipv4Net net(const char* text) { return parse_ipv4(text).value(); }

TEST(Ipv4, IsReadAndWritten) {
  EXPECT_EQ(net("10.0.0.0/8").text(), "10.0.0.0/8");
  EXPECT_EQ(net("192.0.2.7").text(), "192.0.2.7");
  for (const char* wrong : {"", "10", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/8x", "::1", "10.0.0.0/-1", "1.2.3.4 "}) {
    EXPECT_FALSE(parse_ipv4(wrong)) << wrong;
  }
}

TEST(Ipv4, ANetworkContainsItsAddresses) {
  EXPECT_TRUE(net("10.0.0.0/8").contains(net("10.255.1.2")));
  EXPECT_TRUE(net("10.0.0.0/8").contains(net("10.1.0.0/16")));
  EXPECT_FALSE(net("10.1.0.0/16").contains(net("10.0.0.0/8")));
  EXPECT_FALSE(net("10.0.0.0/8").contains(net("11.0.0.1")));
  EXPECT_TRUE(net("0.0.0.0/0").contains(net("11.0.0.1")));
}

TEST(Ipv4, TheHostHasItsLoopback) {
  bool found = false;
  const auto all = own_ipv4_networks().value();
  for (const Ipv4Net& one : all) found = found || one.text() == "127.0.0.1/8";
  EXPECT_TRUE(found);
}

// Sends one datagram from within the namespace: what comes back is 0 or the errno.
int send_to(const char* address, const char* device) {
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (device != nullptr && setsockopt(socket.get(), SOL_SOCKET, SO_BINDTODEVICE, device, 5) < 0) return 255;
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(9);
  inet_pton(AF_INET, address, &to.sin_addr);
  return sendto(socket.get(), "x", 1, 0, reinterpret_cast<sockaddr*>(&to), sizeof(to)) < 0 ? errno : 0;
}

// A device "test0" that takes everything, with an address. False: this kernel has no such device.
bool add_device() {
  NetlinkMessages messages;
  messages.begin(RTM_NEWLINK, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, bytes_of(ifinfomsg{}));
  messages.text(IFLA_IFNAME, "test0");
  const std::size_t info = messages.begin_nested(IFLA_LINKINFO);
  messages.text(IFLA_INFO_KIND, "veth");
  messages.end_nested(info);
  if (messages.send(NETLINK_ROUTE) != 0) return false;
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strcpy(request.ifr_name, "test0");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  inet_pton(AF_INET, "203.0.113.1", &address.sin_addr);
  std::memcpy(&request.ifr_addr, &address, sizeof(address));
  if (ioctl(socket.get(), SIOCSIFADDR, &request) < 0) return false;
  request.ifr_flags = IFF_UP | IFF_RUNNING | IFF_NOARP;
  return ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0;
}

// A process in a new user and network namespace that runs `body` after `prepare(pid)` has returned.
template <class Prepare, class Body>
int run_in_new_network(Prepare prepare, Body body) {
  std::array<int, 2> up{}, down{};
  if (pipe2(up.data(), O_CLOEXEC) < 0 || pipe2(down.data(), O_CLOEXEC) < 0) return -1;
  const pid_t pid = fork();
  char byte = 'x';
  if (pid == 0) {
    close(down[1]);
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0) _exit(250);
    if (const int error = bring_loopback_up(); error != 0) _exit(251);
    if (write(up[1], &byte, 1) != 1 || read(down[0], &byte, 1) != 1) _exit(252);
    _exit(body());
  }
  close(up[1]), close(down[0]);
  const UniqueFd ready(up[0]), go(down[1]);
  if (read(ready.get(), &byte, 1) == 1) {
    prepare(pid);
    EXPECT_EQ(write(go.get(), &byte, 1), 1);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WEXITSTATUS(status);
}

TEST(Network, ItsLoopbackIsUpOnceAsked) {
  EXPECT_EQ(run_in_new_network([](pid_t) {}, [] { return send_to("127.0.0.1", nullptr); }), 0);
}

TEST(Network, AForbiddenDestinationIsRefusedAtOnce) {
  const auto forbid = [](pid_t pid) {
    const auto done = forbid_destinations(pid, {net("10.0.0.0/8"), net("192.0.2.7")});
    EXPECT_TRUE(done) << done.error().text();
  };
  EXPECT_EQ(run_in_new_network(forbid, [] { return send_to("10.9.8.7", nullptr); }), EACCES);
  EXPECT_EQ(run_in_new_network(forbid, [] { return send_to("192.0.2.7", nullptr); }), EACCES);
  EXPECT_EQ(run_in_new_network(forbid, [] { return send_to("192.0.2.8", nullptr); }), ENETUNREACH);
  EXPECT_EQ(run_in_new_network(forbid, [] { return send_to("127.0.0.1", nullptr); }), 0);
}

TEST(Network, ASocketThatChoosesItsDeviceDoesNotGetAroundIt) {
  const auto forbid = [](pid_t pid) {
    const auto done = forbid_destinations(pid, {net("10.0.0.0/8"), net("224.0.0.0/4"), net("127.0.0.0/8")});
    EXPECT_TRUE(done) << done.error().text();
  };
  const auto attempt = [&](const char* address, bool forbidden) {
    const auto body = [&] { return add_device() ? send_to(address, "test0") : 254; };
    return forbidden ? run_in_new_network(forbid, body) : run_in_new_network([](pid_t) {}, body);
  };
  if (attempt("203.0.113.2", false) == 254) GTEST_SKIP() << "this kernel has no veth device";
  for (const char* address : {"10.9.8.7", "239.1.2.3", "127.0.0.1"}) {
    // Without the filter the kernel takes anything to be on the device's link: that is what makes the filter needed.
    EXPECT_EQ(attempt(address, false), 0) << address;
    EXPECT_EQ(attempt(address, true), EPERM) << address;
  }
  EXPECT_EQ(attempt("203.0.113.2", true), 0);
}

TEST(Network, ItsOwnLoopbackIsNeverForbidden) {
  const auto forbid = [](pid_t pid) { EXPECT_TRUE(forbid_destinations(pid, {net("127.0.0.0/8")})); };
  EXPECT_EQ(run_in_new_network(forbid, [] { return send_to("127.0.0.1", nullptr); }), 0);
}

TEST(Network, ForbiddingTwiceIsFine) {
  const auto twice = [](pid_t pid) {
    EXPECT_TRUE(forbid_destinations(pid, {net("10.0.0.0/8")}));
    EXPECT_TRUE(forbid_destinations(pid, {net("10.0.0.0/8"), net("192.0.2.7")}));
  };
  EXPECT_EQ(run_in_new_network(twice, [] { return send_to("192.0.2.7", nullptr); }), EACCES);
}

TEST(Network, AProcessThatIsGoneIsAnError) {
  const pid_t pid = fork();
  if (pid == 0) _exit(0);
  waitpid(pid, nullptr, 0);
  EXPECT_EQ(forbid_destinations(pid, {net("10.0.0.0/8")}).error().code, Errc::not_found);
}

}  // namespace
}  // namespace cove::os
