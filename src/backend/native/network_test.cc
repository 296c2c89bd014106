#include "backend/native/network.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <functional>
#include <thread>

#include "base/unique_fd.h"
#include "os/cgroup_layout.h"
#include "os/child.h"

namespace cove::native {
namespace {

constexpr uid_t kOrdinary = 54321;

Deadline soon() { return Deadline::after(std::chrono::minutes(2)); }

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) == 0) read.reset(ends[0]), write.reset(ends[1]);
  }
  std::string all() {
    write.reset();
    std::string text;
    std::array<char, 512> piece{};
    for (ssize_t n = 0; (n = ::read(read.get(), piece.data(), piece.size())) > 0;) text.append(piece.data(), n);
    return text;
  }
  UniqueFd read, write;
};

// The first process of a sandbox: in namespaces of its own, waiting. run() lets it do its work and gives back its
// words.
class Inside {
 public:
  using Body = std::function<std::string()>;
  explicit Inside(Body body) {
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      go_.write.reset();
      if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0) _exit(1);
      char byte = 'x';
      if (write(ready_.write.get(), &byte, 1) != 1 || read(go_.read.get(), &byte, 1) != 1) _exit(2);
      const std::string words = body();
      _exit(write(words_.write.get(), words.data(), words.size()) < 0 ? 3 : 0);
    }
    go_.read.reset(), words_.write.reset(), ready_.write.reset();
    char byte = 0;
    if (read(ready_.read.get(), &byte, 1) != 1) return;
    // As the native backend maps it: without root the caller, as root a range without rights.
    const bool root = geteuid() == 0;
    const std::string process = "/proc/" + std::to_string(pid_);
    EXPECT_TRUE(root || os::write_text(process + "/setgroups", "deny"));
    EXPECT_TRUE(
        os::write_text(process + "/uid_map", root ? "0 1879048192 65536" : "0 " + std::to_string(geteuid()) + " 1"));
    EXPECT_TRUE(
        os::write_text(process + "/gid_map", root ? "0 1879048192 65536" : "0 " + std::to_string(getegid()) + " 1"));
  }
  ~Inside() { end(); }

  pid_t pid() const { return pid_; }
  std::string run() {
    if (write(go_.write.get(), "x", 1) != 1) return "it is gone";
    return words_.all();
  }
  void end() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  Pipe ready_, go_, words_;
  pid_t pid_ = -1;
};

sockaddr_in to(const std::string& address, int port) {
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(static_cast<std::uint16_t>(port));
  inet_pton(AF_INET, address.c_str(), &where.sin_addr);
  return where;
}

struct Listener {
  explicit Listener(const std::string& address) : socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in where = to(address, 0);
    socklen_t size = sizeof(where);
    EXPECT_EQ(bind(socket.get(), reinterpret_cast<sockaddr*>(&where), size), 0);
    listen(socket.get(), 8);
    getsockname(socket.get(), reinterpret_cast<sockaddr*>(&where), &size);
    port = ntohs(where.sin_port);
  }
  UniqueFd socket;
  int port = 0;
};

// "reached", the error, or "silence".
std::string try_to_connect(const std::string& address, int port, const std::string& device = "", int wait_ms = 60'000) {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const auto size = static_cast<socklen_t>(device.size());
  if (size > 0 && setsockopt(socket.get(), SOL_SOCKET, SO_BINDTODEVICE, device.c_str(), size) < 0) return "no device";
  const sockaddr_in where = to(address, port);
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&where), sizeof(where)) == 0) return "reached";
  if (errno != EINPROGRESS) return std::strerror(errno);
  pollfd wait{socket.get(), POLLOUT, 0};
  if (poll(&wait, 1, wait_ms) != 1) return "silence";
  int error = 0;
  socklen_t length = sizeof(error);
  getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  return error == 0 ? "reached" : std::strerror(error);
}

// An address of this machine that is not its loopback; "" if it has none.
std::string own_address() {
  const auto all = os::own_ipv4_networks();
  for (const os::Ipv4Net& one : *all) {
    if (one.address >> 24 != 127) return os::Ipv4Net{one.address, 32}.text();
  }
  return "";
}

class Networks : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto probed = probe_network();
    if (!probed) GTEST_SKIP() << probed.error().text();
    if (own_address_.empty()) GTEST_SKIP() << "this machine has no address but its loopback";
    if (access(program().c_str(), X_OK) != 0) GTEST_SKIP() << program() << " is not here";
  }
  static std::string program() { return std::string("/usr/bin/") + GetParam(); }

  static NetworkSetup setup(const NetworkPlan& plan) {
    NetworkSetup made = prepare_network(plan).value();
    made.program = program();
    made.is_pasta = made.program.ends_with("pasta");
    made.resolv_conf = "nameserver " + os::Ipv4Net{made.link.address + (made.is_pasta ? 1U : 3U), 32}.text() + "\n";
    return made;
  }
  static Result<Network> start(const Inside& inside, const NetworkPlan& plan) {
    auto network = Network::start(inside.pid(), setup(plan), soon());
    EXPECT_TRUE(network) << network.error().text();
    return network;
  }
  static std::string run(const NetworkPlan& plan, const Inside::Body& body) {
    Inside inside(body);
    const auto network = start(inside, plan);
    return network ? inside.run() : "";
  }

  const std::string own_address_ = own_address();
};

TEST_P(Networks, TheHostsAddressesAreReachableOnlyWithPrivate) {
  const Listener listener(own_address_);
  const auto attempt = [&] { return try_to_connect(own_address_, listener.port); };
  EXPECT_EQ(run({}, attempt), "Permission denied");
  EXPECT_EQ(run({.allow_private = true}, attempt), "reached");
}

TEST_P(Networks, ASocketBoundToTheDeviceDoesNotGetAroundTheWalls) {
  const Listener listener(own_address_);
  EXPECT_EQ(run({}, [&] { return try_to_connect(own_address_, listener.port, "eth0", 1500); }), "silence");
  EXPECT_EQ(run({.allow_private = true}, [&] { return try_to_connect(own_address_, listener.port, "eth0"); }),
            "reached");
}

TEST_P(Networks, PrivateRangesAreRefused) {
  const std::string words = run({}, [] {
    std::string all;
    for (const char* one : {"10.1.2.3", "172.31.0.1", "192.168.1.1", "169.254.169.254", "100.100.100.100"}) {
      all += std::string(one) + " " + try_to_connect(one, 80) + "\n";
    }
    return all;
  });
  EXPECT_EQ(words,
            "10.1.2.3 Permission denied\n172.31.0.1 Permission denied\n192.168.1.1 Permission denied\n"
            "169.254.169.254 Permission denied\n100.100.100.100 Permission denied\n");
}

bool was_reached(const Listener& listener) {
  pollfd wait{listener.socket.get(), POLLIN, 0};
  return poll(&wait, 1, 0) == 1;
}

// What counts is whether the host was reached: an answer from 127.0.0.1 would be dropped inside.
TEST_P(Networks, TheHostsLoopbackIsNeverReachable) {
  const Listener listener("127.0.0.1"), control(own_address());
  const os::Ipv4Net link = setup({}).link;
  const std::string words = run({.allow_private = true}, [&] {
    for (std::uint32_t host = 1; host <= 3; ++host) {
      try_to_connect(os::Ipv4Net{link.address + host, 32}.text(), listener.port, "", 300);
    }
    try_to_connect("127.0.0.1", listener.port, "eth0", 300);
    try_to_connect("0.0.0.0", listener.port, "eth0", 300);
    return try_to_connect("127.0.0.1", listener.port) + ", " + try_to_connect(own_address_, control.port);
  });
  EXPECT_EQ(words, "Connection refused, reached");
  EXPECT_TRUE(was_reached(control));
  EXPECT_FALSE(was_reached(listener));
}

// Port 53 of a server: the header's id and the answer bit tell the reply.
std::string ask_dns(const std::string& server) {
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const sockaddr_in where = to(server, 53);
  const std::string query("\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x04test\0\0\x01\0\x01", 22);
  pollfd wait{socket.get(), POLLIN, 0};
  std::array<char, 512> answer{};
  // Asked again as a resolver does: a datagram may be lost.
  for (int tries = 0;; ++tries) {
    sendto(socket.get(), query.data(), query.size(), 0, reinterpret_cast<const sockaddr*>(&where), sizeof(where));
    if (poll(&wait, 1, 5000) == 1) break;
    if (tries == 12) return "silence";
  }
  const ssize_t n = recv(socket.get(), answer.data(), answer.size(), 0);
  if (n < 0) return std::strerror(errno);
  return n >= 12 && answer[0] == 0x12 && answer[1] == 0x34 && (answer[2] & 0x80) != 0 ? "answered" : "strange answer";
}

// A name server that answers each query with itself; until the process ends.
void serve_dns(const UniqueFd& server) {
  std::thread([fd = server.get()] {
    std::array<char, 512> query{};
    sockaddr_in from{};
    while (true) {
      socklen_t size = sizeof(from);
      const ssize_t n = recvfrom(fd, query.data(), query.size(), 0, reinterpret_cast<sockaddr*>(&from), &size);
      if (n < 12) continue;
      query[2] = static_cast<char>(query[2] | 0x80);
      sendto(fd, query.data(), static_cast<std::size_t>(n), 0, reinterpret_cast<sockaddr*>(&from), size);
    }
  }).detach();
}

// In a mount namespace of its own: what this process and its children see as /etc/resolv.conf.
bool replace_resolv_conf(const std::string& text) {
  char path[] = "/tmp/cove-network-test-XXXXXX";
  const UniqueFd file(mkstemp(path));
  const bool done = write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                    fchmod(file.get(), 0644) == 0 && unshare(CLONE_NEWNS) == 0 &&
                    mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                    mount(path, "/etc/resolv.conf", nullptr, MS_BIND, nullptr) == 0;
  unlink(path);
  return done;
}

// In a process of its own, so that nothing of it remains.
std::string in_child(const Inside::Body& body) {
  Pipe told;
  const pid_t pid = fork();
  if (pid == 0) {
    const std::string words = body();
    _exit(write(told.write.get(), words.data(), words.size()) < 0 ? 1 : 0);
  }
  std::string words = told.all();
  waitpid(pid, nullptr, 0);
  return words;
}

TEST_P(Networks, DnsIsForwardedToTheHostsServer) {
  if (geteuid() != 0) GTEST_SKIP() << "port 53 is for root";
  const UniqueFd turn(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));  // there is one such port for all that run this
  ASSERT_EQ(flock(turn.get(), LOCK_EX), 0);
  const std::string words = in_child([&]() -> std::string {
    const UniqueFd server(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const sockaddr_in where = to(own_address_, 53);
    if (bind(server.get(), reinterpret_cast<const sockaddr*>(&where), sizeof(where)) < 0) return "port 53 is taken";
    if (!replace_resolv_conf("nameserver " + own_address_ + "\n")) return "cannot replace /etc/resolv.conf";
    const std::string inside = setup({}).resolv_conf.substr(std::strlen("nameserver "));
    Inside asker([&] { return ask_dns(inside.substr(0, inside.size() - 1)); });
    serve_dns(server);
    const auto network = start(asker, {});
    return network ? asker.run() : "";
  });
  EXPECT_EQ(words, "answered");
}

TEST_P(Networks, WithADnsServerOnTheLoopbackPastaIsNotUsed) {
  if (geteuid() != 0) GTEST_SKIP() << "needs a mount namespace";
  const std::string words = in_child([]() -> std::string {
    if (!replace_resolv_conf("nameserver 127.0.0.53\n")) return "cannot replace /etc/resolv.conf";
    const auto made = prepare_network({});
    return made ? made->program : made.error().text();
  });
  EXPECT_TRUE(words.ends_with("/slirp4netns")) << words;
}

bool ends(const UniqueFd& pidfd) {
  pollfd wait{pidfd.get(), POLLIN, 0};
  return poll(&wait, 1, 120'000) == 1;
}

TEST_P(Networks, TheProgramEndsWithTheSandbox) {
  Inside inside([] { return std::string(); });
  const auto network = start(inside, {});
  ASSERT_TRUE(network);
  const UniqueFd helper = os::open_pidfd(network->helper());
  ASSERT_TRUE(helper);
  inside.end();
  EXPECT_TRUE(ends(helper));
}

TEST_P(Networks, TheProgramEndsWithTheObjectAndStopsTwice) {
  Inside inside([] { return std::string(); });
  auto network = start(inside, {});
  ASSERT_TRUE(network);
  const pid_t helper = network->helper();
  EXPECT_EQ(kill(helper, 0), 0);
  EXPECT_TRUE(network->stop(soon()));
  EXPECT_EQ(kill(helper, 0), -1);
  EXPECT_EQ(network->helper(), 0);
  EXPECT_TRUE(network->stop(soon()));
}

TEST_P(Networks, TheProgramEndsWithAKilledKeeper) {
  Inside inside([] { return std::string(); });
  Pipe told;
  const pid_t keeper = fork();
  if (keeper == 0) {
    const auto network = Network::start(inside.pid(), setup({}), soon());
    const pid_t helper = network ? network->helper() : 0;
    if (write(told.write.get(), &helper, sizeof(helper)) < 0) _exit(1);
    while (true) pause();
  }
  pid_t pid = 0;
  ASSERT_EQ(read(told.read.get(), &pid, sizeof(pid)), static_cast<ssize_t>(sizeof(pid)));
  const UniqueFd helper = os::open_pidfd(pid);
  ASSERT_TRUE(helper);
  kill(keeper, SIGKILL);
  waitpid(keeper, nullptr, 0);
  EXPECT_TRUE(ends(helper));
}

TEST_P(Networks, AProgramThatFailsIsQuoted) {
  Inside inside([] { return std::string(); });
  NetworkSetup wrong = setup({});
  wrong.link.address = 0xffffffff - 2;
  const auto network = Network::start(inside.pid(), wrong, soon());
  ASSERT_FALSE(network);
  EXPECT_EQ(network.error().code, Errc::unsupported);
  EXPECT_NE(network.error().message.find("ended at once: "), std::string::npos) << network.error().text();
  EXPECT_EQ(network.error().message.find("said nothing"), std::string::npos) << network.error().text();
}

// In a mount namespace of its own, where /dev/net/tun is open to everybody as on most machines.
bool become_ordinary() {
  if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) < 0) return false;
  if (mount("none", "/dev/net", "tmpfs", 0, nullptr) < 0) return false;
  const mode_t old = umask(0);
  const bool made = mknod("/dev/net/tun", S_IFCHR | 0666, makedev(10, 200)) == 0;
  umask(old);
  return made && setgid(kOrdinary) == 0 && setuid(kOrdinary) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0;
}

TEST_P(Networks, AnOrdinaryUserHasTheSameNetwork) {
  if (geteuid() != 0) GTEST_SKIP() << "all of these tests run as an ordinary user already";
  const Listener listener(own_address_);
  const auto attempt = [&] { return try_to_connect(own_address_, listener.port); };
  const std::string words = in_child([&]() -> std::string {
    if (!become_ordinary()) return "cannot become an ordinary user";
    return run({}, attempt) + ", " + run({.allow_private = true}, attempt);
  });
  EXPECT_EQ(words, "Permission denied, reached");
}

INSTANTIATE_TEST_SUITE_P(By, Networks, testing::Values("pasta", "slirp4netns"),
                         [](const auto& about) { return std::string(about.param); });

TEST(NetworkSetups, TheResolverIsTheFirstThatCanBeForwarded) {
  EXPECT_EQ(find_resolver("# x\nsearch a\nnameserver 127.0.0.53\nnameserver\t10.0.0.2 # y\n"), "10.0.0.2");
  EXPECT_EQ(find_resolver("nameserver ::1\nnameservers 1.2.3.4\nnameserver\nnameserver1.2.3.4\n"), "");
}

TEST(NetworkSetups, TheLinkIsNoNetworkOfTheHostAndNothingOfItIsForbidden) {
  const auto setup = prepare_network({});
  if (!setup) GTEST_SKIP() << setup.error().text();
  const auto own = os::own_ipv4_networks();
  for (const os::Ipv4Net& one : *own) EXPECT_FALSE(setup->link.contains({one.address, 32})) << one.text();
  for (const os::Ipv4Net& one : setup->forbidden) EXPECT_FALSE(one.contains(setup->link)) << one.text();
}

}  // namespace
}  // namespace cove::native
