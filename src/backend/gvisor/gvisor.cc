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
#include "os/background.h"
#include "os/cgroup_layout.h"
#include "os/descendants.h"
#include "os/remove_tree.h"

namespace cove::gvisor {
namespace {

using namespace std::chrono_literals;

constexpr auto kReconnect = 30s;
constexpr auto kLook = 3ms;
constexpr const char* kMemory = "/memory";  // of a sandbox's or snapshot's directory: what runsc has written

class GvisorPlace final : public Place {
 public:
  GvisorPlace(Program program, RunscPlan plan, RunscSpec runsc, Launched launched, os::LimitGroup limits,
              const os::Users& users, SandboxSpec spec)
      : program_(std::move(program)),
        plan_(std::move(plan)),
        runsc_(std::move(runsc)),
        launched_(std::move(launched)),
        limits_(std::move(limits)),
        users_(users),
        spec_(std::move(spec)) {}
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
  int gone_fd() const override { return launched_.child.pidfd(); }
  Ended ended() override {
    const auto status = launched_.child.poll();
    Ended ended{status ? "gVisor " + status->text() : "gVisor still runs"};
    if (limits_.oom_kills() > 0) ended.why += " (the sandbox ran out of memory)";
    return ended;
  }
  std::uint64_t oom_kills() const override { return limits_.oom_kills(); }
  Result<void> destroy(Deadline) override { return end(); }

  // All of its memory becomes a file, and it ends; the files stay as they are.
  Result<void> pause(Deadline deadline) override {
    COVE_CHECK(check_saving(deadline));
    return stop_into(own_memory(), deadline);
  }
  Result<void> resume(Deadline deadline) override {
    COVE_CHECK(go_on_from(own_memory(), deadline));
    return os::remove_tree_at(AT_FDCWD, own_memory());
  }
  Result<bool> save_memory_and_seal(const std::string& directory, const std::string& id, Deadline deadline) override {
    COVE_CHECK(check_saving(deadline));
    return seal_stopped(directory + kMemory, id, deadline);
  }

  // gVisor holds on to the files it has open, so that they can only be exchanged while it does not run.
  bool has_changes() const override {
    return plan_.disk_bytes > 0 ||
           std::any_of(plan_.layers.begin(), plan_.layers.end(),
                       [](const native::Layer& layer) { return !native::is_empty(layer.upper); });
  }
  bool seals_apart() const override { return true; }
  Result<bool> seal(const std::string& id, Deadline deadline) override {
    COVE_CHECK(check_saving(deadline));
    auto sealed = seal_stopped(own_memory(), id, deadline);
    [[maybe_unused]] const auto removed = os::remove_tree_at(AT_FDCWD, own_memory());
    // Whether it goes on is seen by its being there; its files are whole in any case.
    if (!sealed && sealed.error().code == Errc::internal) return fail(Errc::busy, std::move(sealed).error().message);
    return sealed;
  }
  Result<void> rewind(const std::vector<std::string>& layers, Deadline deadline) override {
    if (plan_.disk_bytes > 0)
      return fail(Errc::unsupported, "the files of a sandbox with --disk are kept in memory and cannot go back");
    SandboxSpec back = spec_;
    back.layers = layers;
    COVE_TRY(native::LayerChange change, native::LayerChange::rewind(back, users_));
    if (auto begun = begin_anew(change.layers(), deadline); !begun)
      return fail(Errc::internal, std::move(begun).error().message);
    change.keep();
    spec_ = std::move(back);
    return {};
  }
  bool rewinds_to_new_guest() const override { return true; }

 private:
  std::string own_memory() const { return spec_.directory + kMemory; }
  Result<void> check_saving(Deadline deadline) {
    if (plan_.disk_bytes > 0)
      return fail(Errc::unsupported, "the files of a sandbox with --disk are kept in memory and would be lost");
    return check_restore(program_, plan_, users_, runsc_.network, spec_.directory, deadline);
  }
  Result<void> stop_into(const std::string& directory, Deadline deadline) {
    if (relay_) [[maybe_unused]]
      const auto ended = relay_->wait(earlier(deadline, Deadline::after(5s)));  // it hears that the keeper is gone
    relay_.reset();
    return save(launched_, program_, runsc_, users_, directory, deadline);
  }
  Result<void> go_on_from(const std::string& directory, Deadline deadline) {
    runsc_.id = make_id();
    COVE_TRY(launched_, restore(plan_, program_, runsc_, users_, &limits_, directory, deadline));
    runs_ = false;
    return wait_until_it_runs(deadline);
  }
  // A layer that could not be sealed is no reason not to go on.
  Result<bool> seal_stopped(const std::string& directory, const std::string& id, Deadline deadline) {
    COVE_CHECK(stop_into(directory, deadline));
    auto sealed = seal_now(id);
    COVE_CHECK(go_on_from(directory, deadline));
    return sealed;
  }
  Result<bool> seal_now(const std::string& id) {
    COVE_TRY(native::LayerChange change, native::LayerChange::seal(spec_, users_, plan_.layers, id));
    if (change.changed().empty()) return false;
    plan_.layers = change.layers();
    change.keep();
    spec_.layers.push_back(id);
    if (spec_.layers.size() % 16 == 0)
      os::run_in_background([&] { [[maybe_unused]] const auto merged = native::merge_sealed(spec_); });
    return true;
  }
  Result<void> begin_anew(const std::vector<native::Layer>& layers, Deadline deadline) {
    relay_.reset();
    [[maybe_unused]] const auto sent = launched_.child.signal(SIGKILL);
    COVE_CHECK(launched_.child.wait(deadline));
    plan_.layers = layers;
    RunscSpec first = runsc_;
    first.id = runsc_.id = make_id();
    first.log_fd = kLogFd;
    plan_.line = run_line(first);
    const Network network = runsc_.network == "host" ? Network::host : Network::own;
    COVE_TRY(launched_, launch(plan_, program_.path, users_, network, &limits_, deadline));
    runs_ = false;
    return {};
  }
  Result<void> wait_until_it_runs(Deadline deadline) {
    while (!runs_) {
      runs_ = is_running(launched_, runsc_);
      if (runs_) break;
      if (launched_.child.poll()) {
        COVE_CHECK(started());
        return fail(Errc::not_found, ended().why + " before it was ready");
      }
      if (deadline.passed()) return fail(Errc::timeout, "gVisor was not ready in time");
      usleep(std::chrono::microseconds(kLook).count());
    }
    return {};
  }

  Result<Channel> relay() {
    if (launched_.child.poll()) return fail(Errc::not_found, ended().why);
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) return fail_errno("make the guest's channel");
    UniqueFd ours(ends[0]);
    const UniqueFd theirs(ends[1]);
    const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
    const UniqueFd program(open(program_.path.c_str(), O_PATH | O_CLOEXEC));
    if (!null || !program) return fail_errno("open " + program_.path);
    COVE_TRY(os::Child made, run_inside({.of = launched_.child.pid(),
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
    [[maybe_unused]] const auto sent = launched_.child.signal(SIGKILL);
    COVE_CHECK(launched_.child.wait(Deadline::after(10s)));
    COVE_CHECK(os::kill_descendants(getpid(), Deadline::after(5s)));
    return limits_.remove(Deadline::after(5s));
  }

  Program program_;
  RunscPlan plan_;
  RunscSpec runsc_;
  Launched launched_;
  os::LimitGroup limits_;
  os::Users users_;
  SandboxSpec spec_;
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
  if (!spec.memory.empty()) COVE_CHECK(os::remove_mapped_tree_at(AT_FDCWD, spec.directory + "/fs"));
  COVE_TRY(RunscPlan plan, make_plan(spec, users, runsc));
  const os::Limits wanted{.memory_bytes = spec.memory_bytes, .cpus = spec.cpus, .pids = 0};
  COVE_TRY(os::LimitGroup limits, os::LimitGroup::make(os::group_name(native::home_of(spec), spec.name), wanted));
  COVE_TRY(Launched launched,
           spec.memory.empty()
               ? launch(plan, program.path, users, host ? Network::host : Network::own, &limits, deadline)
               : restore(plan, program, runsc, users, &limits, spec.memory + kMemory, deadline));
  runsc.log_fd = -1;  // was for the first one
  return std::make_unique<GvisorPlace>(std::move(program), std::move(plan), std::move(runsc), std::move(launched),
                                       std::move(limits), users, spec);
}

Probe GvisorBackend::probe(Deadline deadline) {
  using enum Capability;
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
  probe.capabilities = {session,
                        pty,
                        files,
                        forward,
                        persistent,
                        volumes,
                        net_none,
                        net_host,
                        fs_read,
                        fs_write,
                        net,
                        pid,
                        image_directory,
                        image_oci,
                        {limit_disk, "tmpfs"},
                        pause,
                        snapshot,
                        snapshot_memory,
                        {platform, program->platform}};
  if (program->knows_statx) probe.capabilities.add(statx);
  const os::LimitSupport& limits = os::probe_limits();
  if (!limits.memory.empty()) probe.capabilities.add({limit_memory, limits.memory});
  if (!limits.memory.empty()) probe.capabilities.add(memory);
  if (!limits.cpus.empty()) probe.capabilities.add({limit_cpus, limits.cpus});
  return probe;
}

}  // namespace cove::gvisor
