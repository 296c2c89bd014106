#include "backend/gvisor/gvisor.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>

#include "backend/guest_path.h"
#include "backend/gvisor/bundle.h"
#include "backend/gvisor/checkpoint.h"
#include "backend/gvisor/inside.h"
#include "backend/gvisor/launch.h"
#include "backend/gvisor/program.h"
#include "backend/native/layers.h"
#include "backend/native/volumes.h"
#include "os/cgroup_layout.h"
#include "os/descendants.h"
#include "os/remove_tree.h"

namespace cove::gvisor {
namespace {

using namespace std::chrono_literals;

constexpr auto kReconnect = 30s;
constexpr auto kLook = 3ms;

class GvisorPlace final : public Place {
 public:
  GvisorPlace(Program program, RunscPlan plan, RunscSpec runsc, Launched launched, os::LimitGroup limits,
              const os::Users& users, std::string directory)
      : program_(std::move(program)),
        plan_(std::move(plan)),
        runsc_(std::move(runsc)),
        launched_(std::move(launched)),
        limits_(std::move(limits)),
        users_(users),
        directory_(std::move(directory)) {}
  ~GvisorPlace() override { [[maybe_unused]] const auto ended = end(); }

  Result<Channel> connect(Deadline deadline) override {
    // First: a process that nobody reaps keeps the first one of its pid namespace from ending.
    relay_.reset();
    COVE_CHECK(wait_until_it_runs(deadline));
    return relay();
  }
  std::chrono::milliseconds reconnect_within() const override { return kReconnect; }
  Result<void> started() override {
    native::StepFailure failure{};
    if (recv(launched_.sync.get(), &failure, sizeof(failure), MSG_DONTWAIT) == sizeof(failure))
      return fail(explain(failure, plan_));
    const std::string words = last_words(launched_.log.get());
    if (!words.empty()) return fail(Errc::unsupported, "runsc " + program_.version + ": " + words);
    return {};
  }
  void settle(SandboxSpec& spec) const override {
    if (spec.cwd.empty()) spec.cwd = "/workspace";
  }
  int gone_fd() const override { return launched_.runsc.pidfd(); }
  Ended ended() override {
    const auto status = launched_.runsc.poll();
    Ended ended{status ? "gVisor " + status->text() : "gVisor still runs"};
    if (limits_.oom_kills() > 0) ended.why += " (the sandbox ran out of memory)";
    return ended;
  }
  std::uint64_t oom_kills() const override { return limits_.oom_kills(); }
  Result<void> destroy(Deadline) override { return end(); }

  // All of its memory becomes a file, and it ends; the files stay as they are.
  Result<void> pause(Deadline deadline) override {
    if (plan_.disk_bytes > 0)
      return fail(Errc::unsupported, "the files of a sandbox with --disk are kept in memory and would be lost");
    COVE_CHECK(check_restore(program_, plan_, users_, runsc_.network, directory_, deadline));
    if (relay_) [[maybe_unused]]
      const auto ended = relay_->wait(earlier(deadline, Deadline::after(5s)));  // it hears that the keeper is gone
    relay_.reset();
    return save(launched_, program_, runsc_, users_, memory(), deadline);
  }
  Result<void> resume(Deadline deadline) override {
    runsc_.id = make_id();
    COVE_TRY(launched_, restore(plan_, program_, runsc_, users_, &limits_, memory(), deadline));
    runs_ = false;
    COVE_CHECK(wait_until_it_runs(deadline));
    return os::remove_tree_at(AT_FDCWD, memory());
  }

 private:
  std::string memory() const { return directory_ + "/memory"; }
  Result<void> wait_until_it_runs(Deadline deadline) {
    while (!runs_) {
      runs_ = is_running(launched_, runsc_);
      if (runs_) break;
      if (launched_.runsc.poll()) {
        COVE_CHECK(started());
        return fail(Errc::not_found, ended().why + " before it was ready");
      }
      if (deadline.passed()) return fail(Errc::timeout, "gVisor was not ready in time");
      usleep(std::chrono::microseconds(kLook).count());
    }
    return {};
  }

  Result<Channel> relay() {
    if (launched_.runsc.poll()) return fail(Errc::not_found, ended().why);
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) return fail_errno("make the guest's channel");
    UniqueFd ours(ends[0]);
    const UniqueFd theirs(ends[1]);
    const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
    const UniqueFd program(open(program_.path.c_str(), O_PATH | O_CLOEXEC));
    if (!null || !program) return fail_errno("open " + program_.path);
    COVE_TRY(os::Child made, run_inside({.of = launched_.runsc.pid(),
                                         .program = program.get(),
                                         .line = relay_line(runsc_),
                                         .in = theirs.get(),
                                         .out = theirs.get(),
                                         .err = null.get()}));
    relay_.emplace(std::move(made));
    Channel channel{UniqueFd(fcntl(ours.get(), F_DUPFD_CLOEXEC, 0)), std::move(ours)};
    if (!channel.in) return fail_errno("connect to the guest");
    return channel;
  }

  // runsc is the first process of its pid namespace: its death takes all others, and their mounts.
  Result<void> end() {
    if (std::exchange(over_, true)) return {};
    relay_.reset();
    [[maybe_unused]] const auto sent = launched_.runsc.signal(SIGKILL);
    COVE_CHECK(launched_.runsc.wait(Deadline::after(10s)));
    COVE_CHECK(os::kill_descendants(getpid(), Deadline::after(5s)));
    return limits_.remove(Deadline::after(5s));
  }

  Program program_;
  RunscPlan plan_;
  RunscSpec runsc_;
  Launched launched_;
  os::LimitGroup limits_;
  os::Users users_;
  std::string directory_;  // the sandbox's own
  std::optional<os::Child> relay_;
  bool runs_ = false, over_ = false;
};

Failure refuse(const std::string& option, const std::string& why) {
  return fail(Errc::unsupported, "the gvisor backend cannot honour " + option + ": " + why);
}

Result<void> check(const SandboxSpec& spec) {
  if (!spec.net.empty() && spec.net != "none" && spec.net != "host")
    return refuse("--net " + spec.net, "it has none and host; use --backend native");
  if (spec.sys) return refuse("--sys", "gVisor's kernel has its own; use --backend native");
  if (spec.pids > 0) return refuse("--pids", "gVisor does not count processes; use --backend native, or --memory");
  if (spec.disk_bytes > 0 && spec.persistent)
    return fail(Errc::unsupported,
                "--disk with --persistent: the limit is kept by a file system in memory, which does not survive a "
                "stop; leave one of them out");
  return {};
}

bool is_below(const std::string& path, const std::string& directory) { return path.starts_with(directory + "/"); }

Result<RunscPlan> make_plan(const SandboxSpec& spec, const os::Users& users, const RunscSpec& runsc) {
  RunscPlan plan;
  COVE_TRY(plan.guest, find_guest());
  COVE_TRY(plan.layers, native::make_layers(spec, users));
  COVE_TRY(plan.volumes, native::read_volumes(spec.volumes, native::home_of(spec)));
  plan.volumes_are_sent = users.by_root;
  plan.disk_bytes = spec.disk_bytes;
  plan.drop_groups = users.by_root || users.more_gids.count > 0;
  if (spec.net == "host") plan.resolv_conf = os::read_text("/etc/resolv.conf");
  // A volume in /tmp would be hidden by another /tmp.
  const bool own_tmp = std::none_of(plan.volumes.begin(), plan.volumes.end(), [](const native::Volume& volume) {
    return volume.target == "/tmp" || is_below(volume.target, "/tmp");
  });
  plan.config = make_config({.hostname = spec.name, .own_tmp = own_tmp});
  plan.line = run_line(runsc);
  return plan;
}

}  // namespace

Result<std::unique_ptr<Place>> GvisorBackend::start(const SandboxSpec& spec, Deadline deadline) {
  COVE_CHECK(check(spec));
  COVE_TRY(Program program, probe_runsc(deadline));
  const os::Users users = os::find_users();
  const bool host = spec.net == "host";
  RunscSpec runsc{.id = make_id(), .platform = program.platform, .network = host ? "host" : "none", .log_fd = kLogFd};
  COVE_TRY(RunscPlan plan, make_plan(spec, users, runsc));
  const os::Limits wanted{.memory_bytes = spec.memory_bytes, .cpus = spec.cpus, .pids = 0};
  COVE_TRY(os::LimitGroup limits, os::LimitGroup::make(os::group_name(native::home_of(spec), spec.name), wanted));
  COVE_TRY(Launched launched,
           launch(plan, program.path, users, host ? Network::host : Network::own, &limits, deadline));
  runsc.log_fd = -1;  // was for the first one
  return std::make_unique<GvisorPlace>(std::move(program), std::move(plan), std::move(runsc), std::move(launched),
                                       std::move(limits), users, spec.directory);
}

Probe GvisorBackend::probe(Deadline deadline) {
  Probe probe;
  if (const auto guest = find_guest(); !guest) {
    probe.why_not = guest.error().message;
    return probe;
  }
  const auto program = probe_runsc(deadline);
  if (!program) {
    probe.why_not = program.error().message;
    return probe;
  }
  probe.usable = true;
  probe.version = program->version;
  probe.capabilities = {"session",
                        "pty",
                        "files",
                        "forward",
                        "persistent",
                        "volumes",
                        "net:none",
                        "net:host",
                        "fs-read",
                        "fs-write",
                        "net",
                        "pid",
                        "image:directory",
                        "image:oci",
                        "limit:disk=tmpfs",
                        "pause",
                        "platform:" + program->platform};
  if (program->knows_statx) probe.capabilities.emplace_back("statx");
  const os::LimitSupport& limits = os::probe_limits();
  if (!limits.memory.empty()) probe.capabilities.push_back("limit:memory=" + limits.memory);
  if (!limits.memory.empty()) probe.capabilities.emplace_back("memory");
  if (!limits.cpus.empty()) probe.capabilities.push_back("limit:cpus=" + limits.cpus);
  return probe;
}

}  // namespace cove::gvisor
