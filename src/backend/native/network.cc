#include "backend/native/network.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <latch>
#include <mutex>
#include <optional>
#include <thread>

#include "os/child.h"

namespace cove::native {
namespace {

struct Pipe {
  UniqueFd read, write;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return fail_errno("pipe");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// Where the program tells that it is ready: newer pastas close what is above 2, and slirp4netns talks on 1.
int ready_fd(const NetworkSetup& setup) { return setup.is_pasta ? 1 : 3; }

std::string address(const NetworkSetup& setup, std::uint32_t host) {
  return os::Ipv4Net{setup.link.address + host, 32}.text();
}

// No port is forwarded in either direction and no address stands for the host. The "pid file" is the pipe on which it
// tells that it is ready. As root it would become nobody, who may not enter the sandbox's namespaces; it gives up all
// rights outside of them anyway, and lives in an empty file system behind a system call filter of its own.
std::vector<std::string> pasta_arguments(const NetworkSetup& setup, pid_t pid) {
  std::vector<std::string> all{"pasta", "--foreground", "--quiet", "--ipv4-only", "--config-net", "--no-map-gw"};
  for (const char* direction : {"-t", "-u", "-T", "-U"}) all.insert(all.end(), {direction, "none"});
  all.insert(all.end(), {"--ns-ifname", "eth0", "--address", address(setup, 2), "--netmask", "24"});
  all.insert(all.end(), {"--gateway", address(setup, 1), "--dns-forward", address(setup, 1)});
  all.insert(all.end(), {"--pid", "/proc/self/fd/" + std::to_string(ready_fd(setup))});
  if (geteuid() == 0) all.insert(all.end(), {"--runas", "0:0"});
  all.push_back(std::to_string(pid));
  return all;
}

// Its own sandbox (an empty file system) wants to become root of the namespaces, which it may only do as root.
std::vector<std::string> slirp_arguments(const NetworkSetup& setup, pid_t pid) {
  const std::string ns = "/proc/" + std::to_string(pid) + "/ns/";
  std::vector<std::string> all{"slirp4netns", "--configure", "--mtu=65520", "--disable-host-loopback"};
  all.emplace_back("--enable-seccomp");
  if (geteuid() == 0) all.emplace_back("--enable-sandbox");
  all.push_back("--cidr=" + setup.link.text());
  all.push_back("--ready-fd=" + std::to_string(ready_fd(setup)));
  all.insert(all.end(), {"--userns-path=" + ns + "user", "--netns-type=path", ns + "net", "eth0"});
  return all;
}

// The last line that says something about the failure.
std::string last_words(const std::string& errors) {
  std::string words;
  for (std::size_t at = 0; at < errors.size();) {
    const std::size_t end = std::min(errors.find('\n', at), errors.size());
    const std::string line = errors.substr(at, end - at);
    at = end + 1;
    if (!line.empty() && line.find("syslog") == std::string::npos) words = line;
  }
  return words.empty() ? "it said nothing" : words;
}

}  // namespace

// The program and the thread that started it and looks after it: the kernel ties "dies with its parent" to the thread,
// so it must live as long as the program.
class Network::Helper {
 public:
  static Result<std::unique_ptr<Helper>> start(pid_t pid, const NetworkSetup& setup, Deadline deadline);
  ~Helper() { [[maybe_unused]] const auto done = stop(); }

  Result<void> stop() {
    if (!thread_.joinable()) return {};
    const std::uint64_t one = 1;
    if (write(stop_.get(), &one, sizeof(one)) != sizeof(one)) return fail_errno("stop the network program");
    thread_.join();
    return {};
  }
  pid_t pid() const {
    const std::lock_guard lock(mutex_);
    return pid_;
  }

 private:
  void run(const os::ExecSpec& spec, UniqueFd ready_write);
  void look_after(os::Child& child);
  Result<void> wait_until_ready(int ready, Deadline deadline);
  Error why() const;

  UniqueFd sandbox_, stop_;
  Pipe errors_;
  std::thread thread_;
  std::latch spawned_{1};
  mutable std::mutex mutex_;  // for what follows
  pid_t pid_ = 0;
  std::string said_;              // what came on its standard error, not all of it
  std::optional<Error> failure_;  // it could not be started
};

Result<std::unique_ptr<Network::Helper>> Network::Helper::start(pid_t pid, const NetworkSetup& setup,
                                                                Deadline deadline) {
  auto helper = std::make_unique<Helper>();
  helper->sandbox_ = os::open_pidfd(pid);
  // Without pidfd_open the program's end is up to stop() alone, as poll() passes over a descriptor that is none.
  if (!helper->sandbox_ && errno != ENOSYS) return fail_errno("open the sandbox's process");
  helper->stop_.reset(eventfd(0, EFD_CLOEXEC));
  if (!helper->stop_) return fail_errno("eventfd");
  COVE_TRY(helper->errors_, make_pipe());
  COVE_TRY(Pipe ready, make_pipe());
  UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return fail_errno("open /dev/null");
  os::ExecSpec spec{.program = setup.program,
                    .argv = setup.is_pasta ? pasta_arguments(setup, pid) : slirp_arguments(setup, pid),
                    .env = {"PATH=/usr/bin:/bin", "LC_ALL=C"},
                    .cwd = "/",
                    .fds = {{null.get(), 0}, {helper->errors_.write.get(), 2}, {ready.write.get(), ready_fd(setup)}},
                    .new_session = true,
                    .parent_death_signal = SIGKILL};
  if (!setup.is_pasta) spec.fds.push_back({null.get(), 1});
  Helper* self = helper.get();
  helper->thread_ =
      std::thread([self, spec = std::move(spec), null = std::move(null),
                   ready_write = std::move(ready.write)]() mutable { self->run(spec, std::move(ready_write)); });
  helper->spawned_.wait();  // the program may be ready before its thread has noted who it is
  COVE_CHECK(helper->wait_until_ready(ready.read.get(), deadline));
  return helper;
}

void Network::Helper::run(const os::ExecSpec& spec, UniqueFd ready_write) {
  auto child = os::Child::spawn(spec);
  errors_.write.reset();
  {
    const std::lock_guard lock(mutex_);
    if (child)
      pid_ = child->pid();
    else
      failure_ = child.error();
  }
  spawned_.count_down();
  ready_write.reset();  // now only the program has it: if it ends, the one who waits wakes up
  if (!child) return;
  look_after(*child);
  const std::lock_guard lock(mutex_);
  pid_ = 0;
}

// Until it ends, the sandbox ends or it is to stop; in any case it has ended and is reaped afterwards.
void Network::Helper::look_after(os::Child& child) {
  std::array<pollfd, 4> wait{{{stop_.get(), POLLIN, 0},
                              {sandbox_.get(), POLLIN, 0},
                              {child.pidfd(), POLLIN, 0},
                              {errors_.read.get(), POLLIN, 0}}};
  while (true) {
    if (poll(wait.data(), wait.size(), -1) < 0 && errno != EINTR) break;
    if (wait[3].revents != 0) {
      std::array<char, 1024> piece{};
      const ssize_t n = read(errors_.read.get(), piece.data(), piece.size());
      if (n <= 0) wait[3].fd = -1;
      const std::lock_guard lock(mutex_);
      if (n > 0 && said_.size() < 65536) said_.append(piece.data(), static_cast<std::size_t>(n));
      continue;
    }
    if ((wait[0].revents | wait[1].revents | wait[2].revents) != 0) break;
  }
  [[maybe_unused]] const auto killed = child.signal(SIGKILL);
  [[maybe_unused]] const auto status = child.wait(Deadline::never());
}

Result<void> Network::Helper::wait_until_ready(int ready, Deadline deadline) {
  pollfd wait{ready, POLLIN, 0};
  int n = 0;
  while ((n = poll(&wait, 1, deadline.poll_timeout())) < 0 && errno == EINTR) {}
  if (n == 0) return fail(Errc::timeout, "the network program is not ready in time");
  char byte = 0;
  if (n > 0 && read(ready, &byte, 1) == 1) return {};
  COVE_CHECK(stop());
  return fail(why());
}

Error Network::Helper::why() const {
  if (failure_) return *failure_;
  return Error{Errc::unsupported, "the network program ended at once: " + last_words(said_)};
}

Network::Network(std::unique_ptr<Helper> helper, std::string resolv_conf)
    : helper_(std::move(helper)), resolv_conf_(std::move(resolv_conf)) {}
Network::Network(Network&&) noexcept = default;
Network& Network::operator=(Network&&) noexcept = default;
Network::~Network() = default;

Result<Network> Network::start(pid_t pid, const NetworkPlan& plan, Deadline deadline) {
  COVE_TRY(const NetworkSetup setup, prepare_network(plan));
  return start(pid, setup, deadline);
}

// The walls first: there is no moment without them.
Result<Network> Network::start(pid_t pid, const NetworkSetup& setup, Deadline deadline) {
  COVE_CHECK(os::forbid_destinations(pid, setup.forbidden));
  auto helper = Helper::start(pid, setup, deadline);
  if (!helper) return fail(std::move(helper).error().because("connect the sandbox with " + setup.program));
  return Network(std::move(*helper), setup.resolv_conf);
}

pid_t Network::helper() const { return helper_ ? helper_->pid() : 0; }

Result<void> Network::stop(Deadline) { return helper_ ? helper_->stop() : Result<void>{}; }

}  // namespace cove::native
