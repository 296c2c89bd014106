#include "guest/identity.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/random.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <net/route.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "os/cgroup_layout.h"

namespace cove::guest {
namespace {

constexpr std::size_t kMostSeed = 512;
constexpr const char *kHostname = "/etc/hostname", *kMachineId = "/etc/machine-id";
constexpr const char *kBootId = "/proc/sys/kernel/random/boot_id", *kShownBootId = "/run/cove-boot-id";

Result<void> set_time(std::uint64_t realtime_ns) {
  const timespec now{static_cast<time_t>(realtime_ns / 1'000'000'000), static_cast<long>(realtime_ns % 1'000'000'000)};
  if (clock_settime(CLOCK_REALTIME, &now) < 0) return fail_errno("set the time");
  return {};
}

// Mixed in and used at once: what the generator would have said next is forgotten.
Result<void> seed_random(const std::string& seed) {
  if (seed.empty() || seed.size() > kMostSeed) return fail(Errc::invalid, "there is no seed");
  alignas(rand_pool_info) std::array<char, sizeof(rand_pool_info) + kMostSeed> bytes{};
  auto* pool = reinterpret_cast<rand_pool_info*>(bytes.data());
  pool->entropy_count = static_cast<int>(seed.size() * 8);
  pool->buf_size = static_cast<int>(seed.size());
  std::memcpy(bytes.data() + sizeof(rand_pool_info), seed.data(), seed.size());
  const UniqueFd random(open("/dev/random", O_RDWR | O_CLOEXEC));
  if (!random || ioctl(random.get(), RNDADDENTROPY, pool) < 0 || ioctl(random.get(), RNDRESEEDCRNG) < 0)
    return fail_errno("seed the random numbers");
  return {};
}

Result<void> write_new(const std::string& path, const std::string& text) {
  const std::string aside = path + ".new";
  const UniqueFd file(open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0444));
  if (!file || write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      rename(aside.c_str(), path.c_str()) < 0)
    return fail_errno("write " + path);
  return {};
}

// The kernel gives itself one id per boot; another file is shown in its place.
Result<void> show_boot_id(const std::string& id) {
  COVE_CHECK(write_new(kShownBootId, id));
  umount2(kBootId, MNT_DETACH);
  if (mount(kShownBootId, kBootId, nullptr, MS_BIND, nullptr) < 0) return fail_errno("show the boot id");
  unlink(kShownBootId);
  return {};
}

sockaddr address_of(const char* text) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  inet_pton(AF_INET, text, &address.sin_addr);
  sockaddr plain{};
  std::memcpy(&plain, &address, sizeof(plain));
  return plain;
}

// The addresses are those of QEMU's user-mode network, which are the same for everybody.
Result<void> set_network(const std::string& hardware) {
  if (hardware.empty()) return {};
  if (hardware.size() != 6) return fail(Errc::invalid, "a hardware address has six bytes");
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq device{};
  std::strcpy(device.ifr_name, "eth0");
  const auto set = [&](unsigned long what, const sockaddr& address) {
    device.ifr_addr = address;
    return ioctl(socket.get(), what, &device) == 0;
  };
  device.ifr_flags = 0;
  if (!socket || ioctl(socket.get(), SIOCSIFFLAGS, &device) < 0) return fail_errno("find the network device");
  sockaddr own{};
  own.sa_family = ARPHRD_ETHER;
  std::memcpy(own.sa_data, hardware.data(), hardware.size());
  if (!set(SIOCSIFHWADDR, own) || !set(SIOCSIFADDR, address_of("10.0.2.15")) ||
      !set(SIOCSIFNETMASK, address_of("255.255.255.0")))
    return fail_errno("set the network's addresses");
  device.ifr_flags = IFF_UP | IFF_RUNNING;
  if (ioctl(socket.get(), SIOCSIFFLAGS, &device) < 0) return fail_errno("bring the network up");
  rtentry route{};
  route.rt_dst = address_of("0.0.0.0");
  route.rt_genmask = address_of("0.0.0.0");
  route.rt_gateway = address_of("10.0.2.2");
  route.rt_flags = RTF_UP | RTF_GATEWAY;
  if (ioctl(socket.get(), SIOCADDRT, &route) < 0 && errno != EEXIST) return fail_errno("set the default route");
  return {};
}

Result<void> limit_processes(std::uint32_t most) {
  if (most == 0) return {};
  return os::write_text("/sys/fs/cgroup/commands/pids.max", std::to_string(most));
}

}  // namespace

void Identity::prepare() {
  mkdir("/etc", 0755);
  for (const char* path : {kHostname, kMachineId}) [[maybe_unused]]
    const auto written = write_new(path, "\n");
  if (!show_boot_id("\n")) return;
  hostname_.reset(open(kHostname, O_WRONLY | O_CLOEXEC));
  machine_id_.reset(open(kMachineId, O_WRONLY | O_CLOEXEC));
  boot_id_.reset(open(kBootId, O_WRONLY | O_CLOEXEC));
}

Result<void> Identity::write_names(const proto::Renew& renew) {
  const auto write = [](UniqueFd held, const char* path, const std::string& text) {
    const auto size = static_cast<ssize_t>(text.size());
    if (held && ftruncate(held.get(), 0) == 0 && pwrite(held.get(), text.data(), text.size(), 0) == size)
      return Result<void>();
    return path == kBootId ? show_boot_id(text) : write_new(path, text);
  };
  if (!renew.hostname.empty()) {
    if (sethostname(renew.hostname.data(), renew.hostname.size()) < 0) return fail_errno("set the host's name");
    mkdir("/etc", 0755);
    COVE_CHECK(write(std::move(hostname_), kHostname, renew.hostname + "\n"));
  }
  if (!renew.machine_id.empty()) COVE_CHECK(write(std::move(machine_id_), kMachineId, renew.machine_id + "\n"));
  if (!renew.boot_id.empty()) COVE_CHECK(write(std::move(boot_id_), kBootId, renew.boot_id + "\n"));
  if (!renew.resolv_conf.empty()) COVE_CHECK(write_new("/etc/resolv.conf", renew.resolv_conf));
  return {};
}

Result<void> Identity::renew(const proto::Renew& renew) {
  COVE_CHECK(set_time(renew.realtime_ns));
  COVE_CHECK(seed_random(renew.seed));
  COVE_CHECK(write_names(renew));
  COVE_CHECK(set_network(renew.hardware_address));
  return limit_processes(renew.pids);
}

}  // namespace cove::guest
