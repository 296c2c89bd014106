#include "backend/microvm/microvm.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <optional>
#include <utility>

#include "backend/guest_path.h"
#include "backend/microvm/files.h"
#include "backend/microvm/rootfs.h"
#include "backend/microvm/vm.h"
#include "backend/microvm/volumes.h"
#include "backend/native/layers.h"
#include "backend/native/volumes.h"
#include "base/log.h"
#include "os/remove_tree.h"
#include "record/record.h"

namespace cove::microvm {
namespace {

using namespace std::chrono_literals;

constexpr auto kReconnect = 30s;
constexpr auto kBoot = 100s, kRestore = 20s, kBringBack = 60s;
constexpr std::uint64_t kUsualMib = 512, kLeastMib = 128;
constexpr std::uint64_t kUsualDiskMib = 16384, kLeastDisk = std::uint64_t{64} << 20;  // a disk takes what is in it
constexpr std::uint64_t kQemusOwn = std::uint64_t{512} << 20;                         // beside the machine's memory
constexpr std::size_t kTemplates = 6, kHeldLists = 64;

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  [[maybe_unused]] const auto n = getrandom(bytes.data(), bytes.size(), 0);
  return bytes;
}

std::string random_hex(std::size_t digits) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = random_bytes(digits);
  for (char& c : text) c = kDigits[static_cast<unsigned char>(c) % 16];
  return text;
}

std::string random_uuid() {
  std::string id = random_hex(32);
  id[12] = '4';
  for (const std::size_t at : {8, 13, 18, 23}) id.insert(at, "-");
  return id;
}

std::uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

proto::Renew make_stream() {
  proto::Renew renew;
  renew.mark = random_bytes(proto::kMarkBytes);
  renew.seed = random_bytes(64);
  renew.realtime_ns = now_ns();
  return renew;
}

// Told once: what runs inside may change it afterwards.
proto::Renew make_identity(const SandboxSpec& spec, const VmSpec& machine) {
  proto::Renew renew = make_stream();
  renew.hostname = spec.name;
  renew.machine_id = random_hex(32);
  renew.boot_id = random_uuid();
  renew.pids = spec.pids;
  if (!machine.network) return renew;
  renew.hardware_address = "\x52\x54" + random_bytes(4);
  renew.resolv_conf = "nameserver 10.0.2.3\n";
  return renew;
}

class MicrovmPlace final : public Place {
 public:
  MicrovmPlace(Vm vm, Channel first, std::vector<CopiedVolume> volumes, os::LimitGroup limits, const SandboxSpec& spec,
               const VmSpec& machine)
      : vm_(std::move(vm)),
        first_(std::move(first)),
        volumes_(std::move(volumes)),
        limits_(std::move(limits)),
        keeps_(spec.persistent) {
    if (!machine.accel.kvm && (spec.option("accel").empty() || spec.option("accel") == "auto"))
      notes_.push_back(machine.accel.text());
  }
  ~MicrovmPlace() override { [[maybe_unused]] const auto ended = destroy(Deadline::after(2s)); }

  Result<Channel> connect(Deadline deadline) override {
    if (first_) return *std::exchange(first_, std::nullopt);
    return vm_.open_stream(make_stream(), deadline);
  }
  std::chrono::milliseconds reconnect_within() const override { return kReconnect; }
  void settle(SandboxSpec& spec) const override {
    if (spec.cwd.empty()) spec.cwd = "/workspace";
  }
  std::vector<std::string> notes() const override { return notes_; }
  int gone_fd() const override { return vm_.gone_fd(); }
  Ended ended() override { return {vm_.why_gone().message}; }
  Result<void> pause(Deadline deadline) override { return vm_.stop(deadline); }
  Result<void> resume(Deadline deadline) override { return vm_.go_on(deadline); }
  Result<bool> seal(const std::string&, Deadline) override {
    return fail(
        Errc::unsupported,
        "the files of a machine are in its memory and cannot be sealed by themselves: add --memory, which saves "
        "all of it, or use --backend native");
  }
  Result<void> save_memory(const std::string& directory, Deadline deadline) override {
    // Whose changes would go to the host?
    if (!std::all_of(volumes_.begin(), volumes_.end(), [](const auto& one) { return one.is_read_only(); }))
      return fail(Errc::unsupported, "a machine with volumes that come back cannot be saved: make them :ro");
    return vm_.save(directory, deadline);
  }
  Result<std::vector<std::string>> sync_volumes(Deadline deadline) override {
    std::vector<std::string> all;
    for (CopiedVolume& volume : volumes_) {
      COVE_TRY(auto left, volume.copy_back(vm_, deadline));
      all.insert(all.end(), left.begin(), left.end());
    }
    return all;
  }
  Result<void> destroy(Deadline) override {
    if (std::exchange(over_, true)) return {};
    bring_back(Deadline::after(kBringBack));
    if (keeps_) [[maybe_unused]]
      const auto synced = vm_.sync(Deadline::after(10s));
    COVE_CHECK(vm_.end(Deadline::after(10s)));
    return limits_.remove(Deadline::after(5s));
  }

 private:
  // A machine that is gone has taken them along.
  void bring_back(Deadline deadline) {
    const auto left = sync_volumes(deadline);
    if (!left) log_event("volume.not_copied_back", {{"error", left.error().message}});
    for (const std::string& why : left ? *left : std::vector<std::string>())
      log_event("volume.not_copied_back", {{"why", why}});
  }

  Vm vm_;
  std::optional<Channel> first_;  // until it is asked for
  std::vector<CopiedVolume> volumes_;
  os::LimitGroup limits_;
  std::vector<std::string> notes_;
  bool keeps_, over_ = false;
};

Failure refuse(const std::string& option, const std::string& why) {
  return fail(Errc::unsupported, "the microvm backend cannot honour " + option + ": " + why);
}

bool wants_full(const SandboxSpec& spec) { return spec.net == "full" || spec.net == "full,private"; }

Result<void> check(const SandboxSpec& spec) {
  if (spec.net == "host") return refuse("--net host", "a machine has its own network; use --backend native");
  if (!spec.net.empty() && spec.net != "none" && !wants_full(spec))
    return fail(Errc::invalid, "--net " + spec.net + ": there are none, full and full,private");
  if (spec.disk_bytes > 0 && spec.disk_bytes < kLeastDisk) return refuse("--disk", "its file system needs 64m");
  return {};
}

Result<Shape> shape_of(const SandboxSpec& spec) {
  Shape shape;
  shape.memory_mib = spec.memory_bytes == 0 ? kUsualMib : (spec.memory_bytes + (1 << 20) - 1) >> 20U;
  if (shape.memory_mib < kLeastMib)
    return refuse("--memory", "a kernel and its first programs need " + std::to_string(kLeastMib) + "m");
  if (spec.cpus > 0) shape.cpus = static_cast<unsigned>(std::ceil(spec.cpus));
  if (spec.cpus > 64) return refuse("--cpus", "a machine has at most 64");
  shape.network = wants_full(spec);
  shape.disk_mib = (spec.disk_bytes + (1 << 20) - 1) >> 20U;
  if (spec.persistent && spec.disk_bytes == 0) shape.disk_mib = kUsualDiskMib;
  return shape;
}

Result<std::string> find_qemu() { return find_program("qemu-system-x86_64", "apt install qemu-system-x86"); }

// A part of a processor is held by a control group; whole ones the machine has itself. So it is with memory, but QEMU
// is not trusted to need no more than what it should.
Result<os::LimitGroup> make_limits(const SandboxSpec& spec, const Shape& shape) {
  os::Limits limits;
  if (spec.cpus > 0 && spec.cpus < shape.cpus) limits.cpus = spec.cpus;
  if (!os::probe_limits().memory.empty()) limits.memory_bytes = (shape.memory_mib << 20U) + kQemusOwn;
  // A keeper that was killed leaves its group, of which nothing runs any more: whoever starts holds the sandbox's lock.
  const std::string name = os::group_name(native::home_of(spec), spec.name);
  [[maybe_unused]] const auto removed = os::remove_limit_group(name, Deadline::after(5s));
  return os::LimitGroup::make(name, limits);
}

std::string template_of(const VmSpec& spec, const RootImage& root) {
  return spec.cache + "/templates/" + Key().add(fitting(spec)).add(spec.boot.key).add(root.key).text();
}

// Of the first machine of its kind, before it is anybody's. Whatever goes wrong here costs later ones time, no more.
void make_template(Vm& vm, const std::string& path, Deadline deadline) {
  const auto made = ensure(
      path,
      [&](const std::string& aside) -> Result<void> {
        prune(path.substr(0, path.rfind('/')), kTemplates);
        if (mkdir(aside.c_str(), 0700) < 0) return fail_errno("make " + aside);
        return vm.save(aside, deadline);
      },
      Deadline::after(0s));
  if (!made) log_event("microvm.no_template", {{"error", made.error().message}});
}

Result<void> make_disk(const std::string& path, std::uint64_t bytes, Deadline deadline) {
  COVE_TRY(const std::string program, find_program("mke2fs", "apt install e2fsprogs"));
  const UniqueFd file(open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file || ftruncate(file.get(), static_cast<off_t>(bytes)) < 0) return fail_errno("make " + path);
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  os::ExecSpec exec;
  exec.program = program;
  exec.argv = {"mke2fs", "-q", "-F", "-t", "ext4", "-m", "0", "-E", "lazy_itable_init=1,lazy_journal_init=1,nodiscard",
               path};
  exec.fds = {{null.get(), 0}, {null.get(), 1}, {null.get(), 2}};
  COVE_TRY(os::Child child, os::Child::spawn(exec));
  COVE_TRY(const os::ExitStatus status, child.wait(deadline));
  if (status.code == 0) return {};
  unlink(path.c_str());
  return fail(Errc::internal, "mke2fs " + status.text());
}

struct MachineMaker {
  const SandboxSpec& spec;
  const VmSpec& machine;
  const os::Users& users;
  const os::LimitGroup& limits;

  struct Made {
    Vm vm;
    Channel channel;
  };

  bool has_disk() const { return machine.shape.disk_mib > 0 && access(machine.disk.c_str(), F_OK) == 0; }

  Result<Made> boot(const std::string& saved, Deadline deadline) const {
    const bool used = has_disk();
    if (machine.shape.disk_mib > 0 && !used)
      COVE_CHECK(make_disk(machine.disk, machine.shape.disk_mib << 20U, deadline));
    COVE_TRY(Vm vm, Vm::boot(machine, users, limits, deadline));
    COVE_CHECK(vm.await_ready(earlier(deadline, Deadline::after(kBoot))));
    if (!used) make_template(vm, saved, deadline);
    COVE_TRY(Channel channel, vm.open_stream(make_identity(spec, machine), deadline));
    return Made{std::move(vm), std::move(channel)};
  }

  Result<Made> restore(const std::string& saved, Deadline deadline) const {
    COVE_TRY(Vm vm, Vm::restore(machine, saved, users, limits, deadline));
    COVE_TRY(Channel channel, vm.open_stream(make_identity(spec, machine), deadline));
    return Made{std::move(vm), std::move(channel)};
  }

  // From the template, unless that does not work.
  Result<Made> make(const std::string& saved, Deadline deadline) const {
    if (spec.option("fresh").empty() && !has_disk() && access(saved.c_str(), F_OK) == 0) {
      auto made = restore(saved, earlier(deadline, Deadline::after(kRestore)));
      if (made) return made;
      log_event("microvm.not_restored", {{"error", made.error().message}});
      [[maybe_unused]] const auto removed = os::remove_tree_at(AT_FDCWD, saved);
      unlink(machine.disk.c_str());
    }
    return boot(saved, deadline);
  }
};

Result<VmSpec> make_machine(const SandboxSpec& spec, Deadline deadline) {
  VmSpec machine;
  COVE_TRY(machine.shape, shape_of(spec));
  COVE_TRY(machine.qemu, find_qemu());
  machine.disk = spec.directory + "/disk";
  machine.own_root = spec.directory + "/image";
  COVE_TRY(machine.cache, cache_directory(native::home_of(spec)));
  for (const char* below : {"/templates", "/held"}) {
    if (mkdir((machine.cache + below).c_str(), 0700) < 0 && errno != EEXIST) return fail_errno("make a cache");
  }
  prune(machine.cache + "/held", kHeldLists);
  COVE_TRY(machine.accel, choose_accel(machine.cache, std::string(spec.option("accel"))));
  if (wants_full(spec)) {
    COVE_TRY(machine.network, native::prepare_network({.allow_private = spec.net == "full,private"}));
  }
  if (!spec.memory.empty()) return machine;
  COVE_TRY(const Kernel kernel, find_kernel(std::string(spec.option("kernel"))));
  COVE_TRY(machine.boot, make_boot_files(machine.cache, kernel, deadline));
  return machine;
}

Result<std::vector<CopiedVolume>> make_volumes(const SandboxSpec& spec) {
  COVE_TRY(const auto read, native::read_volumes(spec.volumes, native::home_of(spec)));
  std::vector<CopiedVolume> volumes;
  for (const native::Volume& volume : read) {
    struct stat info{};
    if (stat(volume.source.c_str(), &info) < 0) return fail_errno("look at " + volume.source);
    if (volume.copied) return refuse("--volume ...:cow", "a volume is a copy anyway; use ro, or --backend native");
    if (!S_ISDIR(info.st_mode)) return refuse("--volume", volume.source + " is no directory; use 'cove cp'");
    volumes.emplace_back(volume, spec.directory + "/volume-" + std::to_string(volumes.size()));
  }
  return volumes;
}

}  // namespace

Result<std::unique_ptr<Place>> MicrovmBackend::start(const SandboxSpec& spec, Deadline deadline) {
  COVE_CHECK(check(spec));
  COVE_TRY(auto volumes, make_volumes(spec));
  const os::Users users = os::find_users();
  COVE_TRY(VmSpec machine, make_machine(spec, deadline));
  COVE_TRY(os::LimitGroup limits, make_limits(spec, machine.shape));
  const MachineMaker maker{spec, machine, users, limits};
  std::string saved = spec.memory;
  if (saved.empty()) {
    COVE_TRY(const RootImage root, make_root_image(spec, users, machine.cache, deadline));
    machine.root = root.path;
    saved = template_of(machine, root);
  }
  COVE_TRY(MachineMaker::Made made, spec.memory.empty() ? maker.make(saved, deadline) : maker.restore(saved, deadline));
  // What goes on from memory has them in it, and whose they are on the host is the first one's business.
  if (!spec.memory.empty()) volumes.clear();
  for (CopiedVolume& volume : volumes) COVE_CHECK(volume.copy_in(made.vm, deadline));
  return std::make_unique<MicrovmPlace>(std::move(made.vm), std::move(made.channel), std::move(volumes),
                                        std::move(limits), spec, machine);
}

Probe MicrovmBackend::probe(Deadline) {
  using enum Capability;
  Probe probe;
  const auto home = record::home();
  const auto cache = home ? cache_directory(*home) : Result<std::string>(fail(home.error()));
  for (const Result<std::string>& needed :
       {find_guest(), find_qemu(), find_program("mkfs.erofs", "apt install erofs-utils"), cache}) {
    if (needed) continue;
    probe.why_not = needed.error().message;
    return probe;
  }
  const auto kernel = find_kernel("");
  if (!kernel) {
    probe.why_not = kernel.error().message;
    return probe;
  }
  const auto found_accel = choose_accel(*cache, "");
  if (!found_accel) {
    probe.why_not = found_accel.error().message;
    return probe;
  }
  probe.usable = true;
  probe.version = kernel->version;
  probe.capabilities = {session,
                        pty,
                        files,
                        forward,
                        volumes,
                        net_none,
                        fs_read,
                        fs_write,
                        net,
                        pid,
                        memory,
                        image_directory,
                        image_oci,
                        pause,
                        snapshot_memory,
                        persistent,
                        {limit_disk, "ext4"},
                        {limit_memory, "machine"},
                        {limit_cpus, "machine"},
                        {limit_pids, "cgroup v2"}};
  if (native::probe_network()) {
    probe.capabilities.add(net_full);
    probe.capabilities.add(net_full_private);
  }
  probe.capabilities.add({accel, found_accel->text()});
  return probe;
}

}  // namespace cove::microvm
