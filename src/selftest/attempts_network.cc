// The network: with --net none there is no way out and nothing of the host to reach.

#include <fstream>
#include <sstream>

#include "selftest/stage.h"

namespace cove::selftest {
namespace {

constexpr std::string_view kNetworkGroup = "reach the network";

Verdict reach_tcp(Stage& stage, const std::string& address) {
  auto listener = Listener::tcp(address);
  if (!listener) return not_applicable("nothing can listen at " + address + " here");
  const Ran ran = stage.act({"tcp", address, listener->port()});
  return judge_outside(ran, listener->visited(), "connected to the host's " + address);
}

Verdict loopback(Stage& stage) { return reach_tcp(stage, "127.0.0.1"); }
Verdict loopback6(Stage& stage) { return reach_tcp(stage, "::1"); }

Verdict own(Stage& stage) {
  const std::string address = own_address();
  return address.empty() ? not_applicable("the host has no address but loopback") : reach_tcp(stage, address);
}

Verdict datagram(Stage& stage) {
  auto listener = Listener::udp("127.0.0.1");
  if (!listener) return not_applicable("nothing can listen on the host's loopback");
  const Ran ran = stage.act({"udp", "127.0.0.1", listener->port(), "hello"});
  return judge_outside(ran, listener->visited(), "a datagram reached the host");
}

Verdict route(Stage& stage) { return stage.tried({"route", "1.1.1.1", "192.0.2.1", "2606:4700:4700::1111"}); }

Verdict private_ranges(Stage& stage) {
  return stage.tried({"route", "10.0.0.1", "172.16.0.1", "192.168.0.1", "100.64.0.1", "fd00::1"});
}

Verdict metadata(Stage& stage) { return stage.tried({"route", "169.254.169.254", "fd00:ec2::254"}); }

Verdict ask_names(Stage& stage) {
  std::ifstream file("/etc/resolv.conf");
  std::string server;
  for (std::string line; server.empty() && std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    if (words >> word && word == "nameserver") words >> server;
  }
  return server.empty() ? not_applicable("the host has no name server") : stage.tried({"dns", server});
}

Verdict see_ports(Stage& stage) {
  auto listener = Listener::tcp("127.0.0.1");
  if (!listener) return not_applicable("nothing can listen on the host's loopback");
  char entry[32];
  std::snprintf(entry, sizeof(entry), "0100007F:%04X", static_cast<unsigned>(std::stoul(listener->port())));
  const Ran ran = stage.shell("cat /proc/net/tcp");
  return judge_outside(ran, ran.output.find(entry) != std::string::npos, "the host's ports can be seen");
}

constexpr Attempt kNetworkAttempts[] = {
    {"host_loopback", kNetworkGroup, "connect to a port on the host's loopback", {}, loopback},
    {"host_loopback_ipv6", kNetworkGroup, "the same by IPv6", {}, loopback6},
    {"host_address", kNetworkGroup, "connect to a port on the host's own address", {}, own},
    {"host_datagram", kNetworkGroup, "send a datagram to the host's loopback", {}, datagram},
    {"route_out", kNetworkGroup, "find a way to the internet", {}, route},
    {"private_ranges", kNetworkGroup, "find a way to private networks", {}, private_ranges},
    {"metadata_service", kNetworkGroup, "find a way to a cloud's metadata service", {}, metadata},
    {"ask_for_names", kNetworkGroup, "ask the host's name server", {}, ask_names},
    {"see_host_ports", kNetworkGroup, "list the host's open ports", {}, see_ports},
    {"see_host_interfaces", kNetworkGroup, "find an interface other than loopback", "interfaces"},
    {"change_interface", kNetworkGroup, "change an interface by netlink", "change_interface"},
    {"raw_socket", kNetworkGroup, "make a raw socket", "raw_socket"},
    {"packet_socket", kNetworkGroup, "read packets off the wire", "packet_socket"},
};

}  // namespace

std::span<const Attempt> network_attempts() { return kNetworkAttempts; }

}  // namespace cove::selftest
