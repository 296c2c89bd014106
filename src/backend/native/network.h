#pragma once

// The network of `--net full`: an own namespace, connected by a user-mode NAT program (pasta, else slirp4netns) that
// runs beside the sandbox with no more rights than its caller.
// Guarantees: what listens on the host's loopback is never reachable; without allow_private neither are the addresses
// that the host has at the start, private, link-local, shared (100.64/10) and multicast ranges; nothing outside can
// connect to the sandbox; the program ends with the sandbox, with the keeper and with this object, and leaves no file.
// Not guaranteed: addresses that the host gets later, and private services that have public addresses, are not walled
// off. IPv4 only: no IPv6 packet leaves. A sandbox with CAP_NET_RAW or CAP_NET_ADMIN could get around the walls.
// DNS by pasta is UDP only.

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/error.h"
#include "os/net.h"

namespace cove::native {

struct NetworkPlan {
  bool allow_private = false;
};

// Everything that can be known before there is a process.
struct NetworkSetup {
  std::string program;  // a path
  bool is_pasta = true;
  os::Ipv4Net link;  // a documentation network that this host does not use; /24
  std::string resolv_conf;
  std::vector<os::Ipv4Net> forbidden;
};
// unsupported: nothing here can; says what to install.
Result<NetworkSetup> prepare_network(const NetworkPlan& plan);

class [[nodiscard]] Network {
 public:
  // Connects the network namespace of `pid`, which this user must have made together with its user namespace, and which
  // must not yet run anything that is not ours. Returns when packets flow.
  static Result<Network> start(pid_t pid, const NetworkSetup& setup, Deadline deadline);
  static Result<Network> start(pid_t pid, const NetworkPlan& plan, Deadline deadline);
  Network(Network&&) noexcept;
  Network& operator=(Network&&) noexcept;
  ~Network();  // stops it

  const std::string& resolv_conf() const { return resolv_conf_; }  // the text for /etc/resolv.conf inside
  pid_t helper() const;                                            // 0: it has ended
  // Idempotent.
  Result<void> stop(Deadline deadline);

 private:
  class Helper;
  Network(std::unique_ptr<Helper> helper, std::string resolv_conf);

  std::unique_ptr<Helper> helper_;
  std::string resolv_conf_;
};

// The program that would be used; otherwise unsupported, with what to do.
Result<std::string> probe_network();

// The first IPv4 address of a `nameserver` line that is not the host's loopback; "" if there is none.
std::string find_resolver(std::string_view resolv_conf);

}  // namespace cove::native
