#include "backend/local/local.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>

#include "backend/guest_path.h"
#include "os/child.h"
#include "os/descendants.h"

namespace cove::local {
namespace {

using namespace std::chrono_literals;

constexpr int kGuestFd = 3;

class LocalPlace final : public Place {
 public:
  LocalPlace(os::Child guest, UniqueFd socket) : guest_(std::move(guest)), socket_(std::move(socket)) {}
  ~LocalPlace() override { [[maybe_unused]] const auto ended = destroy(Deadline::after(1s)); }

  Result<Channel> connect(Deadline) override {
    if (connected_) return fail(Errc::unsupported, "a local sandbox cannot be connected to again");
    Channel channel;
    channel.in = UniqueFd(fcntl(socket_.get(), F_DUPFD_CLOEXEC, 0));
    channel.out = UniqueFd(fcntl(socket_.get(), F_DUPFD_CLOEXEC, 0));
    if (!channel.in || !channel.out) return fail_errno("connect to the guest");
    connected_ = true;
    return channel;
  }

  int gone_fd() const override { return guest_.pidfd(); }

  Ended ended() override {
    const auto status = guest_.poll();
    return {status ? "the guest " + status->text() : "the guest still runs"};
  }

  // The guest ends its commands when the channel closes. shutdown() reaches every copy of the descriptor, also those
  // that connect() gave away.
  Result<void> destroy(Deadline deadline) override {
    if (destroyed_) return {};
    shutdown(socket_.get(), SHUT_RDWR);
    if (!guest_.wait(deadline)) {
      [[maybe_unused]] const auto sent = guest_.signal(SIGKILL);
      COVE_CHECK(guest_.wait(Deadline::after(5s)));
    }
    COVE_CHECK(os::kill_descendants(getpid(), Deadline::after(5s)));
    destroyed_ = true;
    return {};
  }

 private:
  os::Child guest_;
  UniqueFd socket_;
  bool connected_ = false, destroyed_ = false;
};

std::string start_directory(const SandboxSpec& spec, const std::vector<std::string>& env) {
  const std::string home = os::find_env(env, "HOME");
  if (spec.cwd.empty() || spec.cwd == "~") return home.empty() ? "/" : home;
  if (spec.cwd.starts_with("~/")) return home + spec.cwd.substr(1);
  return spec.cwd;
}

Failure refuse(const std::string& option, const std::string& why) {
  return fail(Errc::unsupported, "the local backend cannot honour " + option + ": " + why +
                                     "; leave it out or choose a backend that isolates ('cove doctor' lists them)");
}

}  // namespace

Result<void> check(const SandboxSpec& spec) {
  if (!spec.image.empty()) return refuse("--image", "commands run on this machine's own files");
  if (!spec.net.empty() && spec.net != "host") return refuse("--net " + spec.net, "commands share the host's network");
  if (spec.cpus != 0) return refuse("--cpus", "it enforces no limits");
  if (spec.memory_bytes != 0) return refuse("--memory", "it enforces no limits");
  if (spec.pids != 0) return refuse("--pids", "it enforces no limits");
  if (spec.disk_bytes != 0) return refuse("--disk", "it enforces no limits");
  if (!spec.volumes.empty()) return refuse("--volume", "every directory of this machine is there already");
  return {};
}

Probe LocalBackend::probe(Deadline) {
  Probe probe;
  const auto guest = find_guest();
  probe.usable = guest.has_value();
  if (!guest) probe.why_not = guest.error().message;
  probe.capabilities = {"session", "pty", "files", "forward", "persistent", "net:host"};
  return probe;
}

Result<std::unique_ptr<Place>> LocalBackend::start(const SandboxSpec& spec, Deadline) {
  COVE_CHECK(check(spec));
  COVE_TRY(const std::string guest, find_guest());
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) return fail_errno("make the guest's channel");
  UniqueFd ours(ends[0]), theirs(ends[1]);
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return fail_errno("open /dev/null");
  os::ExecSpec exec;
  exec.program = guest;
  exec.argv = {"cove-guest"};
  for (const auto& [key, value] : spec.env) exec.env.push_back(key + "=" + value);
  exec.cwd = start_directory(spec, exec.env);
  // Only a directory that was asked for must be there; a home that is gone must not lock its user out.
  exec.nearest_cwd = spec.cwd.empty();
  exec.fds = {{null.get(), 0}, {null.get(), 1}, {null.get(), 2}, {theirs.get(), kGuestFd}};
  exec.new_session = true;
  auto child = os::Child::spawn(exec);
  if (!child) return fail(std::move(child).error().because("start local sandbox"));
  return std::make_unique<LocalPlace>(std::move(*child), std::move(ours));
}

}  // namespace cove::local
