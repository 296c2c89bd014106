#include "backend/engine/place.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/log.h"
#include "os/cgroup_layout.h"
#include "os/remove_tree.h"
#include "record/record.h"

namespace cove::engine {
namespace {

using namespace std::chrono_literals;

constexpr auto kGuestTime = 20s;  // from the engine's word that it runs to the guest's socket

Result<void> make_directory(const std::string& path) {
  if (mkdir(path.c_str(), 0700) < 0 && errno != EEXIST) return fail_errno("make " + path);
  return {};
}

// Says that the engine holds something of this sandbox while nobody runs it, and which engine.
Result<void> leave_mark(const SandboxSpec& spec, const Program& program) {
  const UniqueFd file(open((spec.directory + "/" + record::kKeptOutside).c_str(),
                           O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  const std::string text = program.path() + "\n";
  if (!file || write(file.get(), text.data(), text.size()) < 0) return fail_errno("note the sandbox's container");
  return {};
}

// The control group that counts a process's memory, or "".
std::string memory_group(pid_t pid) {
  const os::Hierarchy& memory = os::cgroup_layout().memory;
  const std::string groups = "\n" + os::read_text("/proc/" + std::to_string(pid) + "/cgroup");
  const std::string mark = memory.version == 2 ? "\n0::" : ":memory:";
  const std::size_t at = groups.find(mark);
  if (memory.mount.empty() || at == std::string::npos) return "";
  const std::size_t begin = at + mark.size();
  return memory.mount + groups.substr(begin, groups.find('\n', begin) - begin);
}

// As if it had never run.
Result<void> empty_directories(const SandboxSpec& spec) {
  const UniqueFd parent(open(spec.directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!parent) return fail_errno("open " + spec.directory);
  for (const std::string& path : {workspace_directory(spec), home_directory(spec)})
    COVE_CHECK(os::remove_mapped_tree_at(parent.get(), path.substr(path.rfind('/') + 1)));
  unlinkat(parent.get(), record::kKeptOutside, 0);
  return {};
}

bool has_limits(const SandboxSpec& spec) { return spec.memory_bytes > 0 || spec.cpus > 0 || spec.pids > 0; }

}  // namespace

bool has_mark(const SandboxSpec& spec) {
  return access((spec.directory + "/" + record::kKeptOutside).c_str(), F_OK) == 0;
}

Result<std::unique_ptr<Place>> EnginePlace::start(Container container, const SandboxSpec& spec, Deadline deadline) {
  std::unique_ptr<EnginePlace> place(new EnginePlace(std::move(container), spec));
  COVE_CHECK(place->begin(deadline));
  return place;
}

Result<void> EnginePlace::begin(Deadline deadline) {
  if (container_.way() == Way::direct) {
    COVE_TRY(door_, Door::make(channel_directory(spec_)));
  }
  if (spec_.persistent) {
    COVE_CHECK(make_directory(workspace_directory(spec_)));
    COVE_CHECK(make_directory(home_directory(spec_)));
    if (has_mark(spec_)) {
      std::string note;
      COVE_TRY(auto started, container_.start_again(note, deadline));
      if (!note.empty()) notes_.push_back(note);
      if (started) {
        began(std::move(*started));
        return {};
      }
    } else if (!spec_.layers.empty()) {
      COVE_CHECK(container_.seed(call_deadline()));
    }
    COVE_CHECK(leave_mark(spec_, container_.program()));
  }
  if (spec_.pull == "always") COVE_CHECK(container_.pull(deadline));
  COVE_TRY(Call run, container_.run());
  began(std::move(run));
  return {};
}

void EnginePlace::began(Call call) {
  run_.emplace(std::move(call));
  run_until_ = call_deadline();
}

EnginePlace::~EnginePlace() { [[maybe_unused]] const auto ended = end(Deadline::after(10s)); }

Result<Channel> EnginePlace::connect(Deadline deadline) {
  return container_.way() == Way::direct ? connect_directly(deadline) : connect_by_relay(deadline);
}

// One long-lived `exec`, whose ends are the channel.
Result<Channel> EnginePlace::connect_by_relay(Deadline deadline) {
  while (run_) COVE_CHECK(run_ended(deadline));
  const bool again = relay_.has_value();
  relay_.reset();
  if (!guest_ || again) {
    COVE_TRY(const pid_t first, container_.first_process(call_deadline()));
    if (first <= 0) return fail(Errc::not_found, "container " + container_.name() + " does not run any more");
    if (!guest_ && container_.way() == Way::relayed) guest_ = os::open_pidfd(first);
  }
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) return fail_errno("make the guest's channel");
  UniqueFd ours(ends[0]), theirs(ends[1]);
  COVE_TRY(relay_, container_.relay(theirs.get()));
  Channel channel;
  channel.out.reset(fcntl(ours.get(), F_DUPFD_CLOEXEC, 0));
  channel.in = std::move(ours);
  if (!channel.out) return fail_errno("connect to the guest");
  return channel;
}

Result<Channel> EnginePlace::connect_directly(Deadline deadline) {
  COVE_TRY(UniqueFd socket, guest_ ? find_again() : wait_for_guest(deadline));
  know_guest(socket.get());
  // What was asked for must hold, and the engine says only at the end if it does not.
  if (run_ && has_limits(spec_)) COVE_CHECK(run_ended(deadline));
  if (run_) reap_run();
  Channel channel;
  channel.out.reset(fcntl(socket.get(), F_DUPFD_CLOEXEC, 0));
  channel.in = std::move(socket);
  if (!channel.out) return fail_errno("connect to the guest");
  return channel;
}

// A guest that was there is not waited for: whoever calls comes again, and one that has ended never will.
Result<UniqueFd> EnginePlace::find_again() {
  COVE_TRY(UniqueFd socket, door_.try_connect());
  if (socket) return socket;
  pollfd gone{guest_.get(), POLLIN, 0};
  if (poll(&gone, 1, 0) > 0) return fail(Errc::not_found, ended().why);
  return fail(Errc::disconnected, "the guest in container " + container_.name() + " does not answer");
}

// The guest may be there before the engine's own client has ended.
Result<UniqueFd> EnginePlace::wait_for_guest(Deadline deadline) {
  Deadline patience = Deadline::never();
  while (true) {
    door_.drain();
    COVE_TRY(UniqueFd socket, door_.try_connect());
    if (socket) return socket;
    if (!run_ && patience.is_never()) patience = Deadline::after(kGuestTime);
    if (patience.passed() || deadline.passed())
      return fail(Errc::timeout, "the guest did not come up in container " + container_.name() +
                                     ": is the image for this machine's architecture?");
    std::array<pollfd, 2> wait{pollfd{door_.watch_fd(), POLLIN, 0}, pollfd{run_ ? run_->pidfd() : -1, POLLIN, 0}};
    poll(wait.data(), wait.size(), 20);
    if (wait[1].revents != 0 || (run_ && run_until_.passed())) COVE_CHECK(run_ended(deadline));
  }
}

Result<void> EnginePlace::run_ended(Deadline deadline) {
  auto said = std::exchange(run_, {})->wait(earlier(deadline, run_until_));
  if (!said) return fail(std::move(said).error());
  const bool discarded = has_limits(spec_) && said->err.find("discarded") != std::string::npos;
  if (said->code == 0 && !discarded) return {};
  COVE_CHECK(container_.recover(*said, call_deadline()));
  COVE_TRY(Call run, container_.run());
  began(std::move(run));
  return {};
}

// Its container is there, and what else it has to say is of no interest: it only must not be left a zombie.
void EnginePlace::reap_run() {
  run_reaper_ = std::jthread(
      [call = std::move(*run_)]() mutable { [[maybe_unused]] const auto said = call.wait(call_deadline()); });
  run_.reset();
}

void EnginePlace::know_guest(int socket) {
  const pid_t pid = listener_of(socket);
  if (pid <= 0) return;  // we are in a pid namespace that it is not in: then only its channel tells
  guest_ = os::open_pidfd(pid);
  memory_group_ = memory_group(pid);
}

void EnginePlace::settle(SandboxSpec& spec) const { spec.inherits = true; }

Ended EnginePlace::ended() {
  return {std::string("its container is gone: it ended, was removed from outside, or its engine was restarted") +
          (oom_kills() > 0 ? " (the sandbox ran out of memory)" : "")};
}

std::uint64_t EnginePlace::oom_kills() const {
  if (memory_group_.empty() || spec_.memory_bytes == 0) return 0;
  for (const char* file : {"/memory.events", "/memory.oom_control"}) {
    const std::string text = "\n" + os::read_text(memory_group_ + file);
    const std::size_t at = text.find("\noom_kill ");
    if (at != std::string::npos) return std::strtoull(text.c_str() + at + std::strlen("\noom_kill "), nullptr, 10);
  }
  return 0;
}

Result<bool> EnginePlace::seal(const std::string& id, Deadline) {
  const std::string layer = container_.home() + "/layers/" + id;
  COVE_CHECK(make_directory(container_.home() + "/layers"));
  COVE_CHECK(make_directory(layer));
  if (auto sealed = container_.commit(id, call_deadline()); !sealed) {
    rmdir(layer.c_str());
    return fail(std::move(sealed).error());
  }
  spec_.layers.push_back(id);
  return true;
}

Result<void> EnginePlace::rewind(const std::vector<std::string>& layers, Deadline deadline) {
  SandboxSpec back = spec_;
  back.layers = layers;
  COVE_TRY(Container next, container_.of(back));
  COVE_CHECK(next.has_image(call_deadline()));
  // From here on there is no way back to what was.
  relay_.reset();
  if (guest_) os::signal_by_handle(guest_.get(), SIGKILL);
  guest_.reset();
  auto gone = container_.remove(call_deadline());
  if (gone && spec_.persistent) gone = empty_directories(spec_);
  if (!gone) return fail(Errc::internal, "its container could not be replaced: " + gone.error().message);
  container_ = std::move(next);
  spec_ = std::move(back);
  if (auto begun = begin(deadline); !begun)
    return fail(Errc::internal, "its container could not be made anew: " + begun.error().message);
  return {};
}

Result<void> EnginePlace::destroy(Deadline deadline) { return end(deadline); }

// A guest that would wait for its keeper to come back is told by one who breaks the protocol that nobody will.
void EnginePlace::dismiss() const {
  const auto socket = door_.try_connect();
  if (!socket || !*socket) return;
  const std::array<char, 64> nonsense = [] {
    std::array<char, 64> all{};
    all.fill('\xff');
    return all;
  }();
  [[maybe_unused]] const auto n = send(socket->get(), nonsense.data(), nonsense.size(), MSG_NOSIGNAL);
}

// The guest ends its commands in order when the channel has closed, and the container with it. The engine has the last
// word, or the guest is killed from here: also while no engine answers nothing goes on running.
Result<void> EnginePlace::end(Deadline deadline) {
  if (over_) return {};
  relay_.reset();
  if (guest_) {
    dismiss();
    pollfd gone{guest_.get(), POLLIN, 0};
    if (poll(&gone, 1, std::min(deadline.poll_timeout(), 1000)) == 0) os::signal_by_handle(guest_.get(), SIGKILL);
  }
  const Deadline engine = call_deadline();
  if (run_) [[maybe_unused]]
    const auto said = std::exchange(run_, {})->wait(engine);
  if (run_reaper_.joinable()) run_reaper_.join();
  COVE_CHECK(spec_.persistent ? container_.stop(engine) : container_.remove(engine));
  over_ = true;
  return {};
}

}  // namespace cove::engine
