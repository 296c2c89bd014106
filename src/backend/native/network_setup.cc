#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "backend/native/network.h"
#include "os/cgroup_layout.h"

namespace cove::native {
namespace {

using os::Ipv4Net;

constexpr const char* kInstall = "install the package passt (or slirp4netns), or use --net none or --net host";

// Not to be routed by anybody; so a sandbox that uses one of them hides nothing from itself.
constexpr std::array kDocumentation{"198.51.100.0/24", "203.0.113.0/24", "192.0.2.0/24"};

constexpr std::array kPrivate{
    "0.0.0.0/8",  // "this network"
    "10.0.0.0/8",     "172.16.0.0/12", "192.168.0.0/16",
    "100.64.0.0/10",   // behind a carrier's NAT; overlay networks
    "169.254.0.0/16",  // the link; metadata services of clouds
    "192.0.0.0/24",    // protocol assignments, among them provider gateways
    "224.0.0.0/4",     // multicast
    "240.0.0.0/4",     // reserved, broadcast
};

Ipv4Net net(const char* text) { return os::parse_ipv4(text).value(); }

std::string find_program(const std::string& name) {
  const char* variable = std::getenv("PATH");
  std::string path = variable == nullptr ? "/usr/local/bin:/usr/bin:/bin" : variable;
  path += ":";
  for (std::size_t at = 0, end = 0; (end = path.find(':', at)) != std::string::npos; at = end + 1) {
    const std::string candidate = path.substr(at, end - at) + "/" + name;
    if (candidate.starts_with('/') && access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

Result<void> check_tun() {
  if (access("/dev/net/tun", R_OK | W_OK) == 0) return {};
  return fail(Errc::unsupported, errno_error(errno, "open /dev/net/tun").message +
                                     " (`chmod 666 /dev/net/tun` or `modprobe tun` as root, or run as root)");
}

// pasta forwards DNS to the first server of /etc/resolv.conf that is not on the host's loopback. Where there is none it
// would forward to the loopback itself (and `--dns` changes nothing about that, in 2023), so it is not used then.
// slirp4netns forwards to whatever stands there.
Result<void> choose_program(NetworkSetup& setup) {
  const std::string pasta = find_program("pasta"), slirp = find_program("slirp4netns");
  setup.is_pasta = !pasta.empty() && !find_resolver(os::read_text("/etc/resolv.conf")).empty();
  setup.program = setup.is_pasta ? pasta : slirp;
  if (!setup.program.empty()) return {};
  if (pasta.empty()) return fail(Errc::unsupported, std::string("neither pasta nor slirp4netns is here: ") + kInstall);
  return fail(Errc::unsupported,
              "the host's DNS server listens on its loopback only, which pasta cannot forward to: install slirp4netns");
}

Result<Ipv4Net> choose_link(const std::vector<Ipv4Net>& own) {
  for (const char* text : kDocumentation) {
    const Ipv4Net link = net(text);
    const auto meets = [&](const Ipv4Net& other) { return link.contains({other.address, 32}) || other.contains(link); };
    if (std::none_of(own.begin(), own.end(), meets)) return link;
  }
  return fail(Errc::unsupported,
              "this host uses all three documentation networks itself; none is left for the sandbox");
}

// A packet for 127.0.0.1 that leaves through the device would be sent on by the host, to its own loopback.
std::vector<Ipv4Net> forbidden_destinations(const NetworkPlan& plan, const std::vector<Ipv4Net>& own) {
  std::vector<Ipv4Net> all{net("127.0.0.0/8"), net("0.0.0.0/8")};
  if (plan.allow_private) return all;
  for (const char* text : kPrivate) all.push_back(net(text));
  for (const Ipv4Net& one : own) {
    const Ipv4Net address{one.address, 32};
    const auto covers = [&](const Ipv4Net& other) { return other.contains(address); };
    if (std::none_of(all.begin(), all.end(), covers)) all.push_back(address);
  }
  return all;
}

}  // namespace

std::string find_resolver(std::string_view resolv_conf) {
  constexpr std::string_view kWord = "nameserver";
  for (std::size_t at = 0; at < resolv_conf.size();) {
    const std::size_t end = std::min(resolv_conf.find('\n', at), resolv_conf.size());
    std::string_view line = resolv_conf.substr(at, end - at);
    at = end + 1;
    if (!line.starts_with(kWord) || line.size() == kWord.size()) continue;
    line.remove_prefix(kWord.size());
    const std::size_t from = line.find_first_not_of(" \t");
    if (from == 0 || from == std::string_view::npos) continue;
    line = line.substr(from, line.find_first_of(" \t\r", from) - from);
    const auto address = os::parse_ipv4(line);
    if (address && address->bits == 32 && !net("127.0.0.0/8").contains(*address)) return std::string(line);
  }
  return "";
}

Result<NetworkSetup> prepare_network(const NetworkPlan& plan) {
  NetworkSetup setup;
  COVE_CHECK(check_tun());
  COVE_CHECK(choose_program(setup));
  COVE_TRY(const std::vector<Ipv4Net> own, os::own_ipv4_networks());
  COVE_TRY(setup.link, choose_link(own));
  setup.forbidden = forbidden_destinations(plan, own);
  // pasta answers for the gateway, .1; slirp4netns has its own address for it, .3.
  const Ipv4Net server{setup.link.address + (setup.is_pasta ? 1U : 3U), 32};
  setup.resolv_conf = "nameserver " + server.text() + "\n";
  return setup;
}

Result<std::string> probe_network() {
  COVE_TRY(const NetworkSetup setup, prepare_network({}));
  return setup.program;
}

}  // namespace cove::native
