#pragma once

// The network of a namespace: its loopback, and what may not be reached from it.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace cove::os {

// 10.0.0.0/8 and the like.
struct Ipv4Net {
  std::uint32_t address = 0;  // in this machine's byte order
  std::uint8_t bits = 32;

  bool contains(const Ipv4Net& other) const;
  std::string text() const;  // with /bits unless it is one address
};
// "10.0.0.0/8" or "10.1.2.3"; nothing else.
Result<Ipv4Net> parse_ipv4(std::string_view text);

// The addresses of this host's interfaces with their networks' sizes, loopback included.
Result<std::vector<Ipv4Net>> own_ipv4_networks();

// In the namespace of this process. Allocates nothing, so that a child may call it between clone and exec.
// 0 or an errno.
int bring_loopback_up();

// From now on no process of the network namespace of `pid` can send to these destinations through a device other than
// its loopback. Enters its user and network namespace in a child of its own; the caller must have made them or be root.
// Routes of type `prohibit` make a refusal immediate (EACCES); a filter on everything that is sent holds where a socket
// chooses its device by itself, because the kernel then asks no route. (So 127.0.0.0/8 belongs into such a list: a
// socket that is bound to a device can send there what the other end may take for its own loopback.) Does not hold
// against CAP_NET_RAW or CAP_NET_ADMIN inside.
Result<void> forbid_destinations(pid_t pid, const std::vector<Ipv4Net>& destinations);

}  // namespace cove::os
