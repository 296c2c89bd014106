#include "mcp/inputs.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <optional>
#include <thread>

namespace cove::mcp {
namespace {

constexpr std::chrono::seconds kPatience{5};

struct Pipe {
  UniqueFd in, out;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return fail_errno("make a pipe");
  Pipe made{UniqueFd(ends[0]), UniqueFd(ends[1])};
  if (fcntl(ends[1], F_SETFL, O_NONBLOCK) < 0) return fail_errno("make a pipe");
  return made;
}

Result<void> write_all(int fd, std::string_view bytes) {
  const Deadline deadline = Deadline::after(kPatience);
  const std::size_t all = bytes.size();
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
    if (n < 0 && errno != EAGAIN && errno != EINTR) return fail(Errc::conflict, "the command does not read any more");
    if (n < 0 && deadline.passed())
      return fail(Errc::busy, "the command does not read: " + std::to_string(all - bytes.size()) + " of " +
                                  std::to_string(all) + " bytes were taken");
    pollfd one{fd, POLLOUT, 0};
    if (n < 0) poll(&one, 1, deadline.poll_timeout());
  }
  return {};
}

// In a thread of its own, where nobody else would catch anything.
Result<Outcome> run_safely(Sandbox& sandbox, const CommandSpec& command, const CommandIo& io) {
  try {
    return sandbox.run(command, io);
  } catch (const std::exception& error) {
    return fail(Errc::internal, error.what());
  }
}

// What the follower tells the starter, once.
struct Beginning {
  std::optional<Result<std::string>> id;
};

}  // namespace

Result<std::string> Inputs::start(std::shared_ptr<Sandbox> sandbox, CommandSpec command, const std::stop_token& stop) {
  COVE_TRY(Pipe pipe, make_pipe());
  const auto state = state_;
  const auto beginning = std::make_shared<Beginning>();
  const auto in = std::make_shared<UniqueFd>(std::move(pipe.in));
  const auto input = std::make_shared<Input>();
  input->fd = std::move(pipe.out);
  auto follow = [state, beginning, in, input, sandbox = std::move(sandbox), command = std::move(command)] {
    Key key{sandbox->name(), ""};
    CommandIo io;
    io.stdin_fd = in->get();
    io.started = [&](const std::string& id) {
      const std::lock_guard guard(state->mutex);
      key.second = id;
      state->open[key] = input;
      beginning->id = id;
      state->changed.notify_all();
    };
    const auto outcome = run_safely(*sandbox, command, io);
    const std::lock_guard guard(state->mutex);
    state->open.erase(key);
    if (!beginning->id && outcome) beginning->id = outcome->id;
    if (!beginning->id) beginning->id = fail(outcome.error());
    --state->threads;
    state->changed.notify_all();
  };
  std::unique_lock lock(state->mutex);
  if (state->threads >= kMostInputs) return fail(Errc::busy, "64 commands with stdin run already: end some");
  std::thread(std::move(follow)).detach();
  ++state->threads;
  while (!beginning->id && !stop.stop_requested()) state->changed.wait_for(lock, std::chrono::milliseconds(100));
  if (!beginning->id) return fail(Errc::cancelled, "the call was stopped before the command had started");
  return *beginning->id;
}

Result<void> Inputs::write(const std::string& sandbox, const std::string& id, std::string_view bytes, Last last) {
  std::shared_ptr<Input> input;
  {
    const std::lock_guard guard(state_->mutex);
    const auto found = state_->open.find({sandbox, id});
    if (found != state_->open.end()) input = found->second;
  }
  if (input != nullptr) {
    const std::lock_guard guard(input->mutex);
    if (input->fd) {
      auto written = write_all(input->fd.get(), bytes);
      if (last == Last::yes) input->fd.reset();
      return written;
    }
  }
  return fail(Errc::conflict, "command " + id + " has ended, its stdin is closed, or it was started without");
}

void Inputs::drain(Deadline deadline) {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait_until(lock, deadline.at(), [&] { return state_->threads == 0; });
}

}  // namespace cove::mcp
