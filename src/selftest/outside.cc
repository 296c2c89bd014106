#include "selftest/outside.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/un.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>

#include "os/pass_fd.h"

namespace cove::selftest {

Result<HostProcess> HostProcess::start(const std::string& program, const std::string& secret) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return fail_errno("make a pipe");
  UniqueFd in(ends[0]), out(ends[1]);
  os::ExecSpec spec{.program = program, .argv = {"cove-attempt", "bait", secret}, .env = {"BAIT=" + secret}};
  spec.fds = {{out.get(), 1}};
  COVE_TRY(os::Child child, os::Child::spawn(spec));
  out.reset();
  std::string line;
  for (char c = 0; read(in.get(), &c, 1) == 1 && c != '\n';) line += c;
  if (!line.starts_with("0x")) return fail(Errc::internal, "the bait process did not start");
  return HostProcess(std::move(child), line);
}

std::string HostProcess::memory() const {
  const UniqueFd file(open(("/proc/" + pid() + "/mem").c_str(), O_RDONLY | O_CLOEXEC));
  char bytes[64] = {};
  const auto at = static_cast<off_t>(std::stoull(address_, nullptr, 16));
  return pread(file.get(), bytes, sizeof(bytes) - 1, at) > 0 ? bytes : "";
}

int HostProcess::niceness() const { return getpriority(PRIO_PROCESS, static_cast<id_t>(child_.pid())); }

void HostProcess::kill() {
  [[maybe_unused]] const auto sent = child_.signal(SIGKILL);
  [[maybe_unused]] const auto ended = child_.wait(Deadline::after(std::chrono::seconds(2)));
}

Result<Listener> Listener::listen_at(const sockaddr* address, socklen_t size, int type) {
  UniqueFd fd(socket(address->sa_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fail_errno("make a socket");
  if (bind(fd.get(), address, size) < 0) return fail_errno("bind a socket");
  if (type == SOCK_STREAM && listen(fd.get(), 8) < 0) return fail_errno("listen");
  sockaddr_storage bound{};
  socklen_t length = sizeof(bound);
  getsockname(fd.get(), reinterpret_cast<sockaddr*>(&bound), &length);
  std::uint16_t port = 0;  // at the same place for both families
  if (address->sa_family != AF_UNIX) port = ntohs(reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
  return Listener(std::move(fd), port);
}

namespace {

struct Address {
  sockaddr_storage bytes{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
};

Result<Address> parse(const std::string& text) {
  Address out;
  auto* four = reinterpret_cast<sockaddr_in*>(&out.bytes);
  if (inet_pton(AF_INET, text.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    out.size = sizeof(*four);
    return out;
  }
  auto* six = reinterpret_cast<sockaddr_in6*>(&out.bytes);
  *six = {};
  if (inet_pton(AF_INET6, text.c_str(), &six->sin6_addr) != 1) return fail(Errc::invalid, "not an address: " + text);
  six->sin6_family = AF_INET6;
  out.size = sizeof(*six);
  return out;
}

}  // namespace

Result<Listener> Listener::tcp(const std::string& address) {
  COVE_TRY(const Address at, parse(address));
  return listen_at(at.get(), at.size, SOCK_STREAM);
}

Result<Listener> Listener::udp(const std::string& address) {
  COVE_TRY(const Address at, parse(address));
  return listen_at(at.get(), at.size, SOCK_DGRAM);
}

Result<Listener> Listener::unix_at(const std::string& path) {
  sockaddr_un at{};
  if (path.size() >= sizeof(at.sun_path)) return fail(Errc::invalid, "too long for a socket: " + path);
  at.sun_family = AF_UNIX;
  const bool abstract = path[0] == '@';
  std::memcpy(at.sun_path, path.data(), path.size());
  if (abstract) at.sun_path[0] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + (abstract ? 0 : 1));
  return listen_at(reinterpret_cast<const sockaddr*>(&at), size, SOCK_STREAM);
}

bool Listener::visited() {
  bool any = false;
  char bytes[512];
  while (true) {
    const UniqueFd peer(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!peer && recv(socket_.get(), bytes, sizeof(bytes), MSG_DONTWAIT) < 0) return any;
    any = true;
  }
}

bool Listener::hand_out(int gift, std::chrono::milliseconds patience) {
  pollfd wait{socket_.get(), POLLIN, 0};
  if (poll(&wait, 1, static_cast<int>(patience.count())) != 1) return false;
  const UniqueFd peer(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  return os::send_with_fd(peer.get(), "x", gift) >= 0;
}

std::string host_output(const std::vector<std::string>& argv, Deadline deadline) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return "";
  UniqueFd in(ends[0]), out(ends[1]);
  const UniqueFd nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  os::ExecSpec spec{.program = argv[0], .argv = argv};
  for (char** entry = environ; *entry != nullptr; ++entry) spec.env.emplace_back(*entry);
  spec.fds = {{nothing.get(), 0}, {out.get(), 1}, {out.get(), 2}};
  auto child = os::Child::spawn(spec);
  if (!child) return child.error().text();
  out.reset();
  std::string text;
  char buffer[4096];
  pollfd wait{in.get(), POLLIN, 0};
  while (poll(&wait, 1, deadline.poll_timeout()) == 1) {
    const ssize_t n = read(in.get(), buffer, sizeof(buffer));
    if (n <= 0) break;
    text.append(buffer, static_cast<std::size_t>(n));
  }
  return text;
}

std::string own_address() {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) < 0) return "";
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> list(all, freeifaddrs);
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    if ((each->ifa_flags & IFF_LOOPBACK) != 0 || (each->ifa_flags & IFF_UP) == 0) continue;
    char text[INET_ADDRSTRLEN] = {};
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr, text, sizeof(text));
    return text;
  }
  return "";
}

}  // namespace cove::selftest
