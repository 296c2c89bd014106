#include "backend/native/native.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <optional>

#include "backend/guest_path.h"
#include "backend/host_process.h"
#include "backend/native/disk_image.h"
#include "backend/native/first_process.h"
#include "backend/native/layers.h"
#include "backend/native/network.h"
#include "backend/native/relayer.h"
#include "backend/native/volumes.h"
#include "os/background.h"
#include "os/cgroup_layout.h"
#include "os/child.h"
#include "os/clone.h"
#include "os/frozen.h"
#include "os/limits.h"
#include "os/remove_tree.h"
#include "os/users.h"

namespace cove::native {
namespace {

using namespace std::chrono_literals;

// A limited disk that outlives a stop is a file beside the rest of what is kept of the sandbox.
bool has_disk(const SandboxSpec& spec) { return spec.disk_bytes > 0 && spec.persistent; }
std::string disk_path(const SandboxSpec& spec) { return spec.directory + "/disk"; }

class NativePlace final : public Place {
 public:
  NativePlace(FirstProcess first, os::LimitGroup limits, std::optional<Network> network, Plan plan, SandboxSpec spec,
              const os::Users& users)
      : first_(std::move(first)),
        guest_(first_.take_child(), first_.take_channel(), "native"),
        limits_(std::move(limits)),
        network_(std::move(network)),
        plan_(std::move(plan)),
        spec_(std::move(spec)),
        users_(users) {}
  ~NativePlace() override { [[maybe_unused]] const auto ended = end(Deadline::after(1s)); }

  Result<Channel> connect(Deadline deadline) override { return guest_.connect(deadline); }
  Result<void> started() override { return first_.failure(); }
  void has_answered() override { first_.has_arrived(); }
  void settle(SandboxSpec& spec) const override {
    if (spec.cwd.empty()) spec.cwd = "/workspace";
  }
  int gone_fd() const override { return guest_.gone_fd(); }
  Ended ended() override {
    Ended ended = guest_.ended();
    if (limits_.oom_kills() > 0) ended.why += " (the sandbox ran out of memory)";
    return ended;
  }
  std::uint64_t oom_kills() const override { return limits_.oom_kills(); }
  Result<void> destroy(Deadline deadline) override { return end(deadline); }
  // What forks on a busy machine is not all stopped at once, and what is forgotten here would run on.
  Result<void> pause(Deadline deadline) override {
    const int limit_ms = earlier(deadline, Deadline::after(10s)).poll_timeout();
    paused_.emplace(guest_.pid(), std::chrono::milliseconds(limit_ms));
    return {};
  }
  Result<void> resume(Deadline) override {
    paused_.reset();
    return {};
  }

  bool has_changes() const override {
    return spec_.disk_bytes > 0 || std::any_of(plan_.layers.begin(), plan_.layers.end(),
                                               [](const Layer& layer) { return !is_empty(layer.upper); });
  }
  Result<bool> seal(const std::string& id, Deadline deadline) override {
    COVE_CHECK(can_change_layers());
    COVE_TRY(LayerChange change, LayerChange::seal(spec_, users_, plan_.layers, id));
    if (change.changed().empty()) return false;
    COVE_CHECK(exchange(change, deadline));
    spec_.layers.push_back(id);
    if (spec_.layers.size() % 16 == 0)
      os::run_in_background([&] { [[maybe_unused]] const auto merged = merge_sealed(spec_); });
    return true;
  }
  Result<void> rewind(const std::vector<std::string>& layers, Deadline deadline) override {
    COVE_CHECK(can_change_layers());
    SandboxSpec back = spec_;
    back.layers = layers;
    COVE_TRY(LayerChange change, LayerChange::rewind(back, users_));
    COVE_CHECK(exchange(change, deadline));
    spec_.layers = layers;
    return {};
  }

 private:
  Result<void> can_change_layers() const {
    if (spec_.disk_bytes == 0) return {};
    return fail(Errc::unsupported,
                "the files of a sandbox with --disk are in a file system of their own and cannot become a layer");
  }

  // Stopped for the moment, so that nobody writes to the old layers meanwhile.
  Result<void> exchange(LayerChange& change, Deadline deadline) {
    Plan next = plan_;
    next.layers = change.layers();
    next.layers[0].volume = plan_.layers[0].volume;  // map_image()
    {
      const os::Frozen still(guest_.pid());
      COVE_CHECK(relayer(guest_.pid(), next, change.changed(), users_, deadline));
    }
    change.keep();
    plan_ = std::move(next);
    return {};
  }

  // The guest is pid 1: its death takes everything inside, with every mount.
  Result<void> end(Deadline deadline) {
    COVE_CHECK(guest_.destroy(deadline));
    if (network_) COVE_CHECK(network_->stop(Deadline::after(5s)));
    COVE_CHECK(limits_.remove(Deadline::after(5s)));
    return has_disk(spec_) ? await_free(disk_path(spec_), Deadline::after(10s)) : Result<void>{};
  }

  FirstProcess first_;
  HostProcess guest_;
  os::LimitGroup limits_;
  std::optional<Network> network_;
  Plan plan_;
  SandboxSpec spec_;
  os::Users users_;
  std::optional<os::Frozen> paused_;
};

// Whether anything was mounted or unmounted since it was opened.
bool is_outdated(const UniqueFd& mounts) {
  pollfd changed{mounts.get(), POLLPRI, 0};
  return !mounts || poll(&changed, 1, 0) != 0;
}

bool wants_full(const SandboxSpec& spec) { return spec.net == "full" || spec.net == "full,private"; }

Result<void> check(const SandboxSpec& spec) {
  if (!spec.net.empty() && spec.net != "none" && spec.net != "host" && !wants_full(spec)) {
    return fail(Errc::invalid, "--net " + spec.net + ": there are none, host, full and full,private");
  }
  if (spec.disk_bytes > 0 && spec.checkpoint)
    return fail(
        Errc::unsupported,
        "--disk with --checkpoint: files in a file system of their own cannot become a layer; leave one of them "
        "out");
  if (spec.sys && spec.net == "host" && geteuid() != 0)
    return fail(Errc::unsupported,
                "--sys with --net host: the kernel shows /sys only to the owner of the network, which is root; leave "
                "one of them out, or run cove as root");
  return {};
}

// The host's own, without what is mounted upon it: what the sandbox itself may not mount when the network is not its.
Result<UniqueFd> clone_host_sys() {
  UniqueFd tree(static_cast<int>(syscall(SYS_open_tree, AT_FDCWD, "/sys", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC)));
  if (!tree) return fail_errno("--sys: clone /sys");
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
  attributes.propagation = MS_PRIVATE;
  if (syscall(SYS_mount_setattr, tree.get(), "", AT_EMPTY_PATH, &attributes, sizeof(attributes)) < 0)
    return fail_errno("--sys: make /sys read-only");
  return tree;
}

// Mounts of the keeper's making that the first process puts in their places.
struct OwnMounts {
  UniqueFd disk, sys;
};

Result<OwnMounts> make_own_mounts(const SandboxSpec& spec, const os::Users& users, Deadline deadline) {
  OwnMounts mounts;
  if (spec.sys && spec.net == "host") {
    COVE_TRY(mounts.sys, clone_host_sys());
  }
  if (!has_disk(spec)) return mounts;
  COVE_TRY(mounts.disk, mount_disk({.path = disk_path(spec), .bytes = spec.disk_bytes, .users = users}, deadline));
  COVE_CHECK(os::remove_tree_at(mounts.disk.get(), "root-upper/tmp"));  // /tmp does not survive a stop
  return mounts;
}

// As root: who owns a directory of this machine owns it inside, too, so that root inside can change the image's files.
// It comes as a volume does. One that was given to the sandbox's own root already is taken as it is.
Result<void> map_image(const SandboxSpec& spec, const os::Users& users, Plan& plan) {
  struct stat info{};
  if (!spec.image.starts_with('/') || plan.volumes.size() == kMostVolumes) return {};
  if (stat(spec.image.c_str(), &info) == 0 && info.st_uid == users.uid) return {};
  std::error_code failed;
  const auto path = std::filesystem::canonical(spec.image, failed);
  if (failed) return fail(Errc::not_found, "--image " + spec.image + ": " + failed.message());
  plan.layers[0].volume = static_cast<int>(plan.volumes.size());
  plan.volumes.push_back({.source = path, .target = "/", .read_only = true, .copied = true, .as_it_is = true});
  return {};
}

Result<Plan> make_plan(const SandboxSpec& spec, const os::Users& users) {
  Plan plan;
  COVE_TRY(plan.guest, find_guest());
  COVE_TRY(plan.layers, make_layers(spec, users));
  COVE_TRY(plan.volumes, read_volumes(spec.volumes, home_of(spec)));
  plan.volumes_are_sent = users.by_root;
  if (users.by_root) COVE_CHECK(map_image(spec, users, plan));
  plan.disk_bytes = spec.disk_bytes;
  plan.hostname = spec.name;
  plan.sys = spec.sys;
  plan.own_network = spec.net != "host";
  plan.makes_network = plan.own_network && !wants_full(spec);
  if (!plan.own_network) plan.resolv_conf = os::read_text("/etc/resolv.conf");
  plan.drop_groups = users.by_root || users.more_gids.count > 0;
  return plan;
}

Result<os::LimitGroup> make_limits(const SandboxSpec& spec, Plan& plan) {
  os::Limits limits{.memory_bytes = spec.memory_bytes, .cpus = spec.cpus, .pids = 0};
  // The kernel counts processes per user namespace, so this limit needs no control group; one holds those of all users
  // inside together.
  if (spec.pids > 0) plan.most_processes = spec.pids;
  if (spec.pids > 0 && !os::probe_limits().pids.empty()) limits.pids = spec.pids + kReservedProcesses;
  return os::LimitGroup::make(os::group_name(home_of(spec), spec.name), limits);
}

// What is refused where it is refused, as cheaply as it can be found out: a new user namespace, and rights in it.
Result<void> try_namespaces() {
  auto cloned = os::clone_process(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID);
  if (!cloned) return refused_namespaces(cloned.error());
  if (cloned->pid == 0) _exit(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 ? 0 : errno);
  os::Child child = os::Child::adopt(cloned->pid, std::move(cloned->pidfd));
  COVE_TRY(const os::ExitStatus status, child.wait(Deadline::after(2s)));
  if (status.code != 0) return refused_namespaces(errno_error(status.code, "make new namespaces: mount in them"));
  return {};
}

}  // namespace

Result<std::unique_ptr<Place>> NativeBackend::start(const SandboxSpec& spec, Deadline deadline) {
  COVE_CHECK(check(spec));
  const os::Users users = os::find_users();
  COVE_TRY(Plan plan, make_plan(spec, users));
  COVE_TRY(OwnMounts mounts, make_own_mounts(spec, users, deadline));
  plan.disk = mounts.disk.get();
  plan.host_sys = mounts.sys.get();
  std::optional<NetworkSetup> setup;
  if (wants_full(spec)) {
    COVE_TRY(setup, prepare_network({.allow_private = spec.net == "full,private"}));
    plan.resolv_conf = setup->resolv_conf;
  }
  COVE_TRY(os::LimitGroup limits, make_limits(spec, plan));
  COVE_TRY(FirstProcess first, take_first(plan, users, deadline));
  mounts = OwnMounts{};
  COVE_CHECK(limits.add(first.pid()));
  std::optional<Network> network;
  if (setup) {
    COVE_TRY(network, Network::start(first.pid(), *setup, deadline));
  }
  COVE_CHECK(first.go(plan));
  return std::make_unique<NativePlace>(std::move(first), std::move(limits), std::move(network), std::move(plan), spec,
                                       users);
}

namespace {

// As far as it can be guessed: without a directory that is the namespaces only.
Result<FirstProcess> begin_by_guess(const SandboxSpec& spec) {
  const os::Users users = os::find_users();
  Plan none;
  none.makes_network = true;
  COVE_TRY(FirstProcess first, FirstProcess::begin(users, none, Deadline::after(10s)));
  if (spec.directory.empty()) return first;
  COVE_TRY(Plan guess, make_plan(spec, users));
  guess.is_guess = true;
  COVE_CHECK(first.go(guess));
  COVE_CHECK(first.await_place(Deadline::after(5s)));
  return first;
}

}  // namespace

void NativeBackend::prepare(const SandboxSpec& spec) {
  if (!FirstProcess::can_wait() || spec.net == "host" || wants_full(spec)) return;
  if (prepared_ && !is_outdated(mounts_)) return;
  drop_prepared();
  mounts_ = UniqueFd(open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
  if (auto first = begin_by_guess(spec)) prepared_.emplace(std::move(*first));
}

void NativeBackend::drop_prepared() {
  prepared_.reset();
  mounts_.reset();
}

Result<FirstProcess> NativeBackend::take_first(const Plan& plan, const os::Users& users, Deadline deadline) {
  std::optional<FirstProcess> begun = std::exchange(prepared_, std::nullopt);
  const bool usable = begun && !is_outdated(mounts_) && begun->can_become(plan);
  mounts_.reset();
  if (usable) return std::move(*begun);
  return FirstProcess::begin(users, plan, deadline);
}

std::string NativeBackend::why_not(Deadline) {
  if (const auto guest = find_guest(); !guest) return guest.error().message;
  if (const auto tried = try_namespaces(); !tried) return tried.error().message;
  return "";
}

Probe NativeBackend::probe(Deadline deadline) {
  using enum Capability;
  Probe probe;
  probe.why_not = why_not(deadline);
  probe.usable = probe.why_not.empty();
  if (!probe.usable) return probe;
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
                        snapshot,
                        pause,
                        {limit_disk, "tmpfs"},
                        sys};
  const os::LimitSupport& limits = os::probe_limits();
  for (const auto& [limit, by] : {std::pair{limit_memory, limits.memory},
                                  {limit_cpus, limits.cpus},
                                  {limit_pids, limits.pids.empty() ? "rlimit" : limits.pids}}) {
    if (!by.empty()) probe.capabilities.add({limit, by});
  }
  if (!limits.memory.empty()) probe.capabilities.add(memory);
  if (probe_disk()) probe.capabilities.add({limit_disk_persistent, "loop"});
  if (probe_network()) probe.capabilities.add(net_full);
  return probe;
}

Result<std::vector<Leftover>> NativeBackend::leftovers(const std::string& home, const Alive& alive, Deadline) {
  std::vector<Leftover> found;
  const std::string ours = os::group_name(home, "");
  for (const std::string& group : os::find_limit_groups()) {
    if (!group.ends_with(ours)) continue;
    const std::string name = group.substr(0, group.size() - ours.size());
    if (!alive(name)) found.push_back({"cgroup", name});
  }
  return found;
}

Result<void> NativeBackend::clear(const std::string& home, const Leftover& leftover, Deadline deadline) {
  return os::remove_limit_group(os::group_name(home, leftover.name), deadline);
}

}  // namespace cove::native
