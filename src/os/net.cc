#include "os/net.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <bit>
#include <cerrno>
#include <charconv>
#include <memory>

#include "base/unique_fd.h"

namespace cove::os {
namespace {

std::uint32_t mask_of(std::uint8_t bits) { return bits == 0 ? 0 : ~std::uint32_t{0} << (32 - bits); }

std::uint32_t address_of(const sockaddr* address) {
  return ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr);
}

}  // namespace

bool Ipv4Net::contains(const Ipv4Net& other) const {
  return other.bits >= bits && ((address ^ other.address) & mask_of(bits)) == 0;
}

std::string Ipv4Net::text() const {
  const in_addr raw{htonl(address)};
  char plain[INET_ADDRSTRLEN];
  inet_ntop(AF_INET, &raw, plain, sizeof(plain));
  return bits == 32 ? plain : std::string(plain) + "/" + std::to_string(bits);
}

Result<Ipv4Net> parse_ipv4(std::string_view text) {
  const auto wrong = [&] {
    return fail(Errc::invalid, "'" + std::string(text) + "' is not an IPv4 address or network");
  };
  const std::size_t slash = text.find('/');
  Ipv4Net net;
  in_addr raw{};
  if (inet_pton(AF_INET, std::string(text.substr(0, slash)).c_str(), &raw) != 1) return wrong();
  net.address = ntohl(raw.s_addr);
  if (slash == std::string_view::npos) return net;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data() + slash + 1, end, net.bits);
  if (error != std::errc{} || stopped != end || net.bits > 32) return wrong();
  return net;
}

Result<std::vector<Ipv4Net>> own_ipv4_networks() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) < 0) return fail_errno("list the addresses of this host");
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(first, freeifaddrs);
  std::vector<Ipv4Net> found;
  for (const ifaddrs* at = first; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || at->ifa_addr->sa_family != AF_INET) continue;
    const int bits = at->ifa_netmask == nullptr ? 32 : std::popcount(address_of(at->ifa_netmask));
    found.push_back({address_of(at->ifa_addr), static_cast<std::uint8_t>(bits)});
    // The other end of a tunnel may be this host too.
    if ((at->ifa_flags & IFF_POINTOPOINT) != 0 && at->ifa_dstaddr != nullptr) {
      found.push_back({address_of(at->ifa_dstaddr), 32});
    }
  }
  return found;
}

int bring_loopback_up() {
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return errno;
  ifreq request{};
  request.ifr_name[0] = 'l', request.ifr_name[1] = 'o';
  if (ioctl(socket.get(), SIOCGIFFLAGS, &request) < 0) return errno;
  request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
  return ioctl(socket.get(), SIOCSIFFLAGS, &request) < 0 ? errno : 0;
}

}  // namespace cove::os
