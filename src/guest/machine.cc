#include "guest/machine.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/random.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <net/route.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "guest/file_ops.h"
#include "guest/transfer.h"
#include "os/cgroup_layout.h"

namespace cove::guest {
namespace {

constexpr std::size_t kMostSeed = 512;
constexpr auto kRest = std::chrono::milliseconds(20);

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
Result<void> set_boot_id(const std::string& id) {
  constexpr const char *kOwn = "/run/cove-boot-id", *kKernels = "/proc/sys/kernel/random/boot_id";
  COVE_CHECK(write_new(kOwn, id + "\n"));
  umount2(kKernels, MNT_DETACH);
  if (mount(kOwn, kKernels, nullptr, MS_BIND, nullptr) < 0) return fail_errno("show the boot id");
  unlink(kOwn);
  return {};
}

Result<void> set_names(const proto::Renew& renew) {
  if (!renew.hostname.empty()) {
    if (sethostname(renew.hostname.data(), renew.hostname.size()) < 0) return fail_errno("set the host's name");
    mkdir("/etc", 0755);
    COVE_CHECK(write_new("/etc/hostname", renew.hostname + "\n"));
  }
  if (!renew.machine_id.empty()) COVE_CHECK(write_new("/etc/machine-id", renew.machine_id + "\n"));
  if (!renew.boot_id.empty()) COVE_CHECK(set_boot_id(renew.boot_id));
  if (!renew.resolv_conf.empty()) COVE_CHECK(write_new("/etc/resolv.conf", renew.resolv_conf));
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

// What the image has there is hidden, as by any mount.
Result<void> make_volume(const proto::MachineVolume& volume) {
  constexpr unsigned long kFlags = MS_NOSUID | MS_NODEV;
  const char* path = volume.path.c_str();
  if (volume.read_only) {
    if (mount(nullptr, path, nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | kFlags, nullptr) == 0) return {};
    return fail_errno("make " + volume.path + " read-only");
  }
  COVE_CHECK(make_directories(volume.path));
  if (mount("volume", path, "tmpfs", kFlags, "size=50%,mode=0755") < 0) return fail_errno("mount " + volume.path);
  return {};
}

}  // namespace

std::uint64_t count_memory_kills() {
  constexpr std::string_view kWord = "\noom_kill ";
  const std::string text = os::read_text("/proc/vmstat");
  const std::size_t at = text.find(kWord);
  return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + kWord.size(), nullptr, 10);
}

Result<void> renew_machine(const proto::Renew& renew) {
  COVE_CHECK(set_time(renew.realtime_ns));
  COVE_CHECK(seed_random(renew.seed));
  COVE_CHECK(set_names(renew));
  COVE_CHECK(set_network(renew.hardware_address));
  return limit_processes(renew.pids);
}

Machine::Machine(Loop& loop, UniqueFd control, Events events)
    : loop_(loop), control_(std::move(control)), events_(std::move(events)) {
  loop_.watch(control_.get(), EPOLLIN, [this](std::uint32_t) { read(); });
}

// A port that nobody holds on the other side ends at once, again and again: it is looked at now and then.
void Machine::read() {
  const auto space = reader_.space();
  const ssize_t n = ::read(control_.get(), space.data(), space.size());
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {
    loop_.forget(control_.get());
    loop_.after(kRest, [this] { loop_.watch(control_.get(), EPOLLIN, [this](std::uint32_t) { read(); }); });
    return;
  }
  reader_.filled(static_cast<std::size_t>(n));
  while (true) {
    auto message = reader_.next();
    if (!message || !*message) return;
    const auto type = static_cast<proto::MachineType>((*message)->type);
    auto done = handle(**message);
    // A transfer is answered at its end.
    if (!done || (type != proto::MachineType::put && type != proto::MachineType::get)) answer(type, done);
  }
}

Result<void> Machine::handle(const proto::Message& message) {
  if (message.type > static_cast<std::uint8_t>(last(proto::MachineType{})))
    return fail(Errc::protocol, "an unknown request");
  switch (static_cast<proto::MachineType>(message.type)) {
    case proto::MachineType::ready: events_.ready(); return {};
    case proto::MachineType::sync: sync(); return {};
    case proto::MachineType::put:
    case proto::MachineType::get: {
      COVE_TRY(const auto request, proto::decode<proto::FileRequest>(message.payload));
      return begin_transfer(static_cast<proto::MachineType>(message.type), request);
    }
    case proto::MachineType::volume: {
      COVE_TRY(const auto volume, proto::decode<proto::MachineVolume>(message.payload));
      return make_volume(volume);
    }
    case proto::MachineType::renew: break;
  }
  COVE_TRY(const auto renew, proto::decode<proto::Renew>(message.payload));
  if (renew.mark.size() != proto::kMarkBytes) return fail(Errc::protocol, "a mark has another size");
  COVE_CHECK(renew_machine(renew));
  events_.renewed(renew.mark);
  return {};
}

Result<void> Machine::begin_transfer(proto::MachineType type, const proto::FileRequest& request) {
  if (transfer_) return fail(Errc::busy, "files are being moved already");
  COVE_TRY(transfer_, start_transfer(request, type == proto::MachineType::put));
  words_.clear();
  loop_.watch(transfer_.get(), EPOLLIN, [this, type](std::uint32_t) { end_transfer(type); });
  return {};
}

void Machine::end_transfer(proto::MachineType type) {
  std::array<char, 1024> bytes{};
  const ssize_t n = ::read(transfer_.get(), bytes.data(), bytes.size());
  if (n > 0) {
    words_.append(bytes.data(), static_cast<std::size_t>(n));
    return;
  }
  loop_.forget(transfer_.get());
  transfer_.reset();
  answer(type, words_.empty() ? Result<void>() : Result<void>(fail(Errc::internal, words_)));
}

void Machine::answer(proto::MachineType type, const Result<void>& done) {
  ByteQueue out;
  proto::append_message(out, static_cast<std::uint8_t>(type), 0,
                        proto::encode(proto::MachineAnswer{done ? "" : done.error().message}));
  while (!out.empty()) {
    const ssize_t n = write(control_.get(), out.view().data(), out.size());
    if (n > 0) out.consume(static_cast<std::size_t>(n));
    pollfd room{control_.get(), POLLOUT, 0};
    if (n < 0 && (errno != EAGAIN || poll(&room, 1, 1000) <= 0)) return;
  }
}

}  // namespace cove::guest
