#include "keeper/keeper_main.h"

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <utility>

#include "backend/table.h"
#include "backend/traits.h"
#include "base/log.h"
#include "keeper/keeper.h"
#include "os/own_memory.h"
#include "os/pass_fd.h"
#include "proto/launch.h"
#include "record/home.h"

namespace cove::keeper {
namespace {

using namespace std::chrono_literals;

void keep_close_on_exec(int fd) {
  const int flags = fcntl(fd, F_GETFD);
  if (flags >= 0) fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
}

// Nothing of the terminal, the shell or the directory it was started from keeps its hold on a keeper. The umask stays:
// commands inherit it, and every file of ours is made with its mode.
void daemonize() {
  setsid();
  if (chdir("/") < 0) log_event("keeper.chdir_failed", {{"errno", errno}});
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int fd = 0; null && fd < 3; ++fd) dup2(null.get(), fd);
  for (const int number : {SIGPIPE, SIGHUP, SIGINT, SIGQUIT, SIGTSTP}) signal(number, SIG_IGN);
  signal(SIGCHLD, SIG_DFL);
  // Only the soft limit: what commands may do is not changed for good.
  rlimit core{};
  if (getrlimit(RLIMIT_CORE, &core) == 0) {
    core.rlim_cur = 0;
    setrlimit(RLIMIT_CORE, &core);
  }
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  mallopt(M_ARENA_MAX, 1);
}

void open_log() {
  const char* path = std::getenv("COVE_LOG");
  if (path == nullptr || *path == '\0') return;
  log_to(open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
}

UniqueFd termination_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  return UniqueFd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

// What a keeper of the nursery has done before it is asked for anything.
struct Ahead {
  Backend* backend = nullptr;  // that is prepared
  std::optional<record::Unnamed> record;

  // What was not needed after all.
  void drop() {
    if (backend != nullptr) backend->drop_prepared();
    record.reset();
  }
};

// Where sandboxes are was opened when there were some: a COVE_HOME that was removed since is not made again.
struct Nest {
  std::string home;
  UniqueFd sandboxes;
};

Ahead work_ahead(Nest nest, const std::string& backend) {
  os::take_memory();
  Ahead ahead;
  SandboxSpec likely;
  if (auto made = record::Unnamed::make(std::move(nest.sandboxes))) {
    likely.directory = nest.home + "/sandboxes/" + made->name();
    ahead.record.emplace(std::move(*made));
  }
  if (auto found = find_backend(backend)) ahead.backend = *found;
  if (ahead.backend != nullptr) ahead.backend->prepare(likely);
  return ahead;
}

// Nobody has to wait for a keeper of the nursery to let go of what it has prepared.
Result<void> await_input(int socket, const Ahead& ahead, Deadline deadline) {
  while (true) {
    std::array<pollfd, 2> fds{pollfd{socket, POLLIN, 0},
                              pollfd{ahead.backend == nullptr ? -1 : ahead.backend->outdated_fd(), POLLPRI, 0}};
    if (poll(fds.data(), fds.size(), deadline.poll_timeout()) == 0)
      return fail(Errc::timeout, "nobody told the keeper what to start");
    if (fds[0].revents != 0) return {};
    if (fds[1].revents != 0) ahead.backend->drop_prepared();
  }
}

Result<proto::LaunchRequest> read_request(int socket, const Ahead& ahead, Deadline deadline) {
  proto::MessageReader reader;
  while (true) {
    COVE_TRY(const auto message, reader.next());
    if (message) return proto::decode<proto::LaunchRequest>(message->payload);
    COVE_CHECK(await_input(socket, ahead, deadline));
    const std::span<char> space = reader.space();
    const ssize_t n = recv(socket, space.data(), space.size(), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n <= 0) return fail(Errc::disconnected, "the client that started the keeper is gone");
    reader.filled(static_cast<std::size_t>(n));
  }
}

void answer(int socket, proto::ClientType type, std::string_view payload) {
  ByteQueue out;
  proto::append_message(out, static_cast<std::uint8_t>(type), 0, payload);
  [[maybe_unused]] const auto n = send(socket, out.view().data(), out.size(), MSG_NOSIGNAL);
}

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// The stored spec of a stopped sandbox, with the values that are never stored taken from the request.
Result<SandboxSpec> restarted_spec(const record::Record& record, const SandboxSpec& asked) {
  COVE_TRY(SandboxSpec spec, record.spec());
  if (!spec.persistent) {
    return fail(Errc::conflict, "sandbox " + spec.name + " is not persistent and cannot be started again: 'cove rm " +
                                    spec.name + "' and create it anew");
  }
  for (auto& [key, value] : spec.env) {
    const auto& forwarded = spec.env_names_forwarded;
    if (std::find(forwarded.begin(), forwarded.end(), key) == forwarded.end()) continue;
    for (const auto& [asked_key, asked_value] : asked.env) {
      if (asked_key == key) value = asked_value;
    }
  }
  return spec;
}

// What was made ahead is of no use if its directory has been removed since.
Result<record::Record> take_record(const proto::LaunchRequest& request, SandboxSpec& spec, Ahead& ahead) {
  if (!request.restart && ahead.record) {
    auto record = record::Record::create(spec, *std::exchange(ahead.record, std::nullopt));
    if (record || record.error().code != Errc::not_found) return record;
  }
  if (!request.restart) return record::Record::create(spec);
  COVE_TRY(record::Record record, record::Record::lock(spec.name));
  COVE_TRY(spec, restarted_spec(record, request.spec));
  return record;
}

Result<std::unique_ptr<Keeper>> start_in(record::Record& record, const SandboxSpec& spec) {
  const Deadline deadline = Deadline::after(120s);
  COVE_TRY(Backend * backend, find_backend(spec.backend));
  if (spec.checkpoint && !traits_of(spec.backend).has_layers)
    return fail(Errc::unsupported,
                "--checkpoint: backend " + spec.backend + " cannot seal its files: use --backend native");
  for (const auto& [key, value] : spec.options) {
    if (!has_option(traits_of(spec.backend), key))
      return fail(Errc::unsupported, "--" + key + ": backend " + spec.backend + " has no such option");
  }
  KeeperParts parts;
  SandboxSpec placed = spec;
  COVE_TRY(const std::string home, record::home());
  placed.directory = home + "/sandboxes/" + spec.name;
  if (!spec.from.empty()) {
    COVE_TRY(const auto saved, record::find_snapshot(spec.from));
    placed.memory = saved.memory;
  }
  // First of all, because it goes on by itself while the rest is done here.
  COVE_TRY(parts.place, backend->start(placed, deadline));
  COVE_TRY(parts.listener, record.listen());
  parts.signals = termination_signals();
  COVE_TRY(parts.channel, parts.place->connect(deadline));
  parts.spec = spec;
  parts.place->settle(parts.spec);
  parts.record = std::move(record);
  auto keeper = std::make_unique<Keeper>(std::move(parts));
  const bool slow = spec.prepared || traits_of(spec.backend).starts_slowly;
  if (auto greeted = keeper->greet(Deadline::after(slow ? 40s : 10s)); !greeted) {
    keeper->give_back(record);
    return fail(std::move(greeted).error());
  }
  return keeper;
}

Result<void> forget_outside(SandboxSpec spec) {
  COVE_TRY(Backend * backend, find_backend(spec.backend));
  COVE_TRY(const std::string home, record::home());
  spec.directory = home + "/sandboxes/" + spec.name;
  return backend->forget(spec, Deadline::after(60s));
}

// Of a sandbox that does not run and that nobody wants any more.
Result<void> forget(const std::string& name) {
  COVE_TRY(record::Record record, record::Record::lock(name));
  COVE_TRY(const SandboxSpec spec, record.spec());
  COVE_CHECK(forget_outside(spec));
  return record.remove();
}

Result<std::unique_ptr<Keeper>> start(const proto::LaunchRequest& request, Ahead& ahead) {
  SandboxSpec spec = request.spec;
  if (!request.restart && spec.backend == kAuto.name) {
    COVE_TRY(const Choice choice, choose_backend(spec.require, Deadline::after(30s)));
    spec.backend = choice.backend->name();
  }
  if (!request.restart) {
    COVE_TRY(Backend * backend, find_backend(spec.backend));
    backend->prepare(spec);  // goes on by itself while the record is written
  }
  if (spec.copies_began_ns == 0) spec.copies_began_ns = now_ns();
  COVE_TRY(record::Record record, take_record(request, spec, ahead));
  record::leave_home_as_it_is();
  auto keeper = start_in(record, spec);
  if (keeper) return keeper;
  if (!request.restart) [[maybe_unused]]
    const auto forgotten = forget_outside(spec);
  if (request.restart) [[maybe_unused]]
    const auto noted = record.write_status(record::Life::stopped, keeper.error().message);
  else [[maybe_unused]]
    const auto removed = record.remove();
  return fail(std::move(keeper).error().because("start sandbox " + spec.name));
}

int keep(UniqueFd launch, Ahead ahead, Deadline request_by, char* argument = nullptr) {
  auto request = read_request(launch.get(), ahead, request_by);
  if (argument != nullptr) std::memset(argument, 0, std::strlen(argument));
  if (!request && request.error().code == Errc::disconnected) return 0;  // nobody wants anything of it
  if (request && request->forget) {
    const auto forgotten = forget(request->spec.name);
    if (forgotten)
      answer(launch.get(), proto::ClientType::done, {});
    else
      answer(launch.get(), proto::ClientType::error,
             proto::encode(proto::ErrorReply{forgotten.error().code, forgotten.error().message}));
    return forgotten ? 0 : 1;
  }
  if (request && request->restart) ahead.drop();  // that has its own files
  auto keeper = request ? start(*request, ahead) : Result<std::unique_ptr<Keeper>>(fail(request.error()));
  ahead.drop();
  if (!keeper) {
    log_event("sandbox.not_started", {{"error", keeper.error().text()}});
    answer(launch.get(), proto::ClientType::error,
           proto::encode(proto::ErrorReply{keeper.error().code, keeper.error().message}));
    return 1;
  }
  log_event("sandbox.started", {{"sandbox", request->spec.name}, {"pid", getpid()}});
  std::string notes;
  for (const std::string& note : (*keeper)->notes()) notes += (notes.empty() ? "" : "\n") + note;
  answer(launch.get(), proto::ClientType::done, notes);
  if (request->spec.owned)
    (*keeper)->live_with(std::move(launch));
  else
    (*keeper)->await_claim(std::move(launch), request->restart ? Keeper::Begun::again : Keeper::Begun::anew);
  request = fail(Errc::internal, "");  // the environment's values are not needed twice
  try {
    const auto ran = (*keeper)->run();
    if (!ran) (*keeper)->abandon(ran.error().text());
    return ran ? 0 : 1;
  } catch (const std::exception& e) {
    (*keeper)->abandon(std::string("internal: the keeper failed: ") + e.what());
    return 1;
  }
}

// An order comes when a sandbox has just been made, and is to be used: this work can wait, unless somebody waits for
// it. False: nobody wants it any more.
bool wait_a_moment(int orders, int launch) {
  constexpr int kMomentMs = 5;
  std::array<pollfd, 2> fds{pollfd{orders, POLLIN, 0}, pollfd{launch, POLLIN, 0}};
  poll(fds.data(), fds.size(), kMomentMs);
  return (fds[1].revents & POLLHUP) == 0;
}

// A keeper that cannot be forked is a socket that closes: the client hears of it.
int nurse(UniqueFd orders, char* argument) {
  daemonize();
  signal(SIGCHLD, SIG_IGN);  // keepers are nobody's children
  Nest nest{record::home().value_or(""), record::open_sandboxes().value_or(UniqueFd())};
  while (true) {
    os::Received order = os::receive_with_fd(orders.get(), 64);  // the backend that is probably asked for
    if (!order.fd) return 0;
    if (!wait_a_moment(orders.get(), order.fd.get()) || fork() != 0) continue;
    orders.reset();
    daemonize();
    return keep(std::move(order.fd), work_ahead(std::move(nest), order.bytes), Deadline::never(), argument);
  }
}

template <class Work>
int with_launch_fd(Work work) {
  UniqueFd launch(proto::kLaunchFd);
  keep_close_on_exec(launch.get());
  open_log();
  try {
    return work(std::move(launch));
  } catch (const std::exception& e) {
    log_event("keeper.failed", {{"error", e.what()}});
    return 1;
  }
}

}  // namespace

int keeper_main() {
  return with_launch_fd([](UniqueFd launch) {
    daemonize();
    return keep(std::move(launch), {}, Deadline::after(10s));
  });
}

int nursery_main(char* argument) {
  return with_launch_fd([&](UniqueFd orders) { return nurse(std::move(orders), argument); });
}

}  // namespace cove::keeper
