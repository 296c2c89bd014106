#include "backend/host_process.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>

#include "os/descendants.h"

namespace cove {
namespace {

using namespace std::chrono_literals;

constexpr int kGuestFd = 3;

}  // namespace

Result<HostProcess> HostProcess::start(os::ExecSpec exec, std::string backend) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) return fail_errno("make the guest's channel");
  UniqueFd ours(ends[0]), theirs(ends[1]);
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return fail_errno("open /dev/null");
  exec.argv = {"cove-guest"};
  exec.fds = {{null.get(), 0}, {null.get(), 1}, {null.get(), 2}, {theirs.get(), kGuestFd}};
  exec.new_session = true;
  auto child = os::Child::spawn(exec);
  if (!child) return fail(std::move(child).error().because("start " + backend + " sandbox"));
  return HostProcess(std::move(*child), std::move(ours), std::move(backend));
}

HostProcess::~HostProcess() { [[maybe_unused]] const auto ended = end(Deadline::after(1s)); }

Result<Channel> HostProcess::connect(Deadline) {
  if (connected_) return fail(Errc::unsupported, "a " + backend_ + " sandbox cannot be connected to again");
  Channel channel;
  channel.in = UniqueFd(fcntl(socket_.get(), F_DUPFD_CLOEXEC, 0));
  channel.out = UniqueFd(fcntl(socket_.get(), F_DUPFD_CLOEXEC, 0));
  if (!channel.in || !channel.out) return fail_errno("connect to the guest");
  connected_ = true;
  return channel;
}

Ended HostProcess::ended() {
  const auto status = guest_.poll();
  return {status ? "the guest " + status->text() : "the guest still runs"};
}

Result<void> HostProcess::destroy(Deadline deadline) { return end(deadline); }

// The guest ends its commands when the channel closes. shutdown() reaches every copy of the descriptor, also those that
// connect() gave away.
Result<void> HostProcess::end(Deadline deadline) {
  if (!socket_) return {};
  shutdown(socket_.get(), SHUT_RDWR);
  if (!guest_.wait(deadline)) {
    [[maybe_unused]] const auto sent = guest_.signal(SIGKILL);
    COVE_CHECK(guest_.wait(Deadline::after(5s)));
  }
  COVE_CHECK(os::kill_descendants(getpid(), Deadline::after(5s)));
  socket_.reset();
  return {};
}

std::string start_directory(const SandboxSpec& spec, const std::string& home) {
  if (spec.cwd.empty() || spec.cwd == "~") return home.empty() ? "/" : home;
  if (spec.cwd.starts_with("~/")) return home + spec.cwd.substr(1);
  return spec.cwd;
}

}  // namespace cove
