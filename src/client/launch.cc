#include "client/launch.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>

#include "backend/guest_path.h"
#include "client/connection.h"
#include "client/control.h"
#include "client/nursery.h"
#include "os/exec.h"

extern char** environ;

namespace cove {
namespace {

std::vector<std::string> host_environment() {
  std::vector<std::string> all;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) all.emplace_back(*entry);
  return all;
}

// No handler of the caller's may run in a child that shares its memory.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

// As vfork, because callers may be large and the children only walk prepared steps; but each has a stack of its own:
// vfork within vfork is more than some runtimes (AddressSanitizer's) keep apart.
class Grandchild {
 public:
  Grandchild(const os::PreparedExec& prepared, int error_fd) : prepared_(prepared), error_fd_(error_fd) {}
  // The child's pid, which ends at once: 0, or why there is no grandchild.
  pid_t start() {
    const SignalsBlocked blocked;
    return start(be_child, child_stack_);
  }

 private:
  using Stack = std::array<char, 65536>;

  pid_t start(int (*entry)(void*), Stack& stack) {
    return clone(entry, stack.data() + stack.size(), CLONE_VM | CLONE_VFORK | SIGCHLD, this);
  }
  static int be_child(void* self) {
    auto& us = *static_cast<Grandchild*>(self);
    return us.start(be_keeper, us.keeper_stack_) < 0 ? errno : 0;
  }
  static int be_keeper(void* self) {
    const auto& us = *static_cast<Grandchild*>(self);
    us.prepared_.run(us.error_fd_);
    return 127;
  }

  const os::PreparedExec& prepared_;
  const int error_fd_;
  alignas(64) Stack child_stack_;
  alignas(64) Stack keeper_stack_;
};

// A grandchild, so that it is nobody's zombie when it ends in the middle of a long-lived caller's life.
Result<void> spawn_detached(const os::ExecSpec& spec) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return fail_errno("start the keeper: pipe");
  UniqueFd error_in(ends[0]), error_out(ends[1]);
  const os::PreparedExec prepared(spec);
  const pid_t pid = std::make_unique<Grandchild>(prepared, error_out.get())->start();
  if (pid < 0) return fail_errno("start the keeper: fork");
  error_out.reset();
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  if (WIFEXITED(status) && WEXITSTATUS(status) != 0) return fail(errno_error(WEXITSTATUS(status), "fork the keeper"));
  return os::PreparedExec::read_failure(error_in.get(), spec);
}

// What the socket takes, or all of it.
enum class Sending : int { some = MSG_DONTWAIT, all = 0 };
Result<void> send_request(int socket, ByteQueue& out, Sending sending) {
  while (!out.empty()) {
    const ssize_t n = send(socket, out.view().data(), out.size(), MSG_NOSIGNAL | static_cast<int>(sending));
    if (n < 0 && errno == EAGAIN) return {};
    if (n < 0 && errno != EINTR) return fail(Errc::disconnected, "the keeper ended before it read its request");
    if (n > 0) out.consume(static_cast<std::size_t>(n));
  }
  return {};
}

Result<void> wait_ready(int socket, const StopEvent& stop, Deadline deadline) {
  pollfd fds[2] = {{socket, POLLIN, 0}, {stop.fd(), POLLIN, 0}};
  const int n = poll(fds, 2, deadline.poll_timeout());
  if (n < 0 && errno != EINTR) return fail_errno("wait for the keeper");
  if (n > 0 && fds[1].revents != 0) return fail(Errc::cancelled, "the start of the sandbox was stopped");
  if (n == 0 && deadline.passed()) return fail(Errc::timeout, "the sandbox was not ready in time");
  return {};
}

// None: the keeper has ended without a word.
Result<std::optional<std::string>> await_answer(int socket, const Call& call) {
  const StopEvent stop(call.stop);
  proto::MessageReader reader;
  while (true) {
    COVE_TRY(const auto message, reader.next());
    if (message) {
      COVE_TRY(const auto notes, expect(*message, proto::ClientType::done));
      return std::string(notes);
    }
    COVE_CHECK(wait_ready(socket, stop, call.deadline));
    const std::span<char> space = reader.space();
    const ssize_t n = recv(socket, space.data(), space.size(), MSG_DONTWAIT);
    if (n > 0) reader.filled(static_cast<std::size_t>(n));
    if (n == 0 || (n < 0 && errno == ECONNRESET)) return std::nullopt;
  }
}

}  // namespace

std::string keeper_program() {
  if (const char* named = std::getenv("COVE_PROGRAM"); named != nullptr && *named != '\0') return named;
  if (!program_folder().empty()) return program_folder() + "/cove";
  char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof(path));
  const std::string_view self(path, n > 0 ? static_cast<std::size_t>(n) : 0);
  if (self.substr(self.rfind('/') + 1) == "cove") return std::string(self);
  return "cove";
}

Result<void> spawn_keeper(std::vector<std::string> arguments, int socket) {
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return fail_errno("open /dev/null");
  os::ExecSpec spec;
  spec.argv = std::move(arguments);
  spec.program = keeper_program();
  spec.env = host_environment();
  spec.new_session = true;
  spec.fds = {{null.get(), 0}, {null.get(), 1}, {null.get(), 2}, {socket, proto::kLaunchFd}};
  if (auto spawned = spawn_detached(spec); !spawned)
    return fail(std::move(spawned).error().because("start the keeper"));
  return {};
}

namespace {

// Both give the socket of a keeper that has its request.
UniqueFd ask_nursery(const proto::LaunchRequest& request) {
  UniqueFd waiting = request.forget ? UniqueFd() : Nursery::of_this_process().take();
  if (!waiting) return waiting;
  ByteQueue out;
  proto::append_message(out, 0, 0, proto::encode(request));
  if (!send_request(waiting.get(), out, Sending::all)) waiting.reset();
  return waiting;
}

Result<UniqueFd> start_program(const proto::LaunchRequest& request) {
  ByteQueue out;
  proto::append_message(out, 0, 0, proto::encode(request));
  COVE_TRY(LaunchSocket socket, make_launch_socket());
  COVE_CHECK(send_request(socket.ours.get(), out, Sending::some));  // it is there when the keeper looks
  COVE_CHECK(spawn_keeper({"cove", "keeper"}, socket.theirs.get()));
  socket.theirs.reset();
  COVE_CHECK(send_request(socket.ours.get(), out, Sending::all));
  return std::move(socket.ours);
}

}  // namespace

// One of the nursery may have been killed since it was born.
Result<StartedKeeper> start_keeper(const proto::LaunchRequest& request, const Call& call) {
  UniqueFd socket = ask_nursery(request);
  std::optional<std::string> notes;
  if (socket) {
    COVE_TRY(notes, await_answer(socket.get(), call));
  }
  if (!notes) {
    COVE_TRY(socket, start_program(request));
    COVE_TRY(notes, await_answer(socket.get(), call));
  }
  if (!notes) return fail(Errc::disconnected, "the keeper ended before the sandbox was ready");
  if (!request.spec.owned && !request.forget) [[maybe_unused]]
    const auto n = send(socket.get(), "", 1, MSG_NOSIGNAL);
  Nursery::of_this_process().prepare(request.spec.backend);
  return StartedKeeper{request.spec.owned ? std::move(socket) : UniqueFd(), std::move(*notes)};
}

}  // namespace cove
