#include "backend/landlock/landlock.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "backend/guest_path.h"
#include "backend/host_process.h"
#include "os/landlock.h"
#include "os/remove_tree.h"
#include "os/seccomp.h"

namespace cove::landlock {
namespace {

using os::Reach;

// Before version 3 a file could be truncated anywhere: no wall.
constexpr int kLeastAbi = 3;
constexpr int kSignalsAbi = 6;

struct Directories {
  std::string workspace, tmp;
};

bool wants_network(const SandboxSpec& spec) { return spec.net == "host"; }

Failure refuse(const std::string& option, const std::string& why) {
  return fail(Errc::unsupported, "the landlock backend cannot honour " + option + ": " + why +
                                     "; leave it out or choose a backend that can ('cove doctor' lists them)");
}

Result<void> check(const SandboxSpec& spec) {
  if (!spec.image.empty() && spec.image != "host") return refuse("--image", "commands see this machine's own system");
  if (!spec.net.empty() && spec.net != "none" && spec.net != "host")
    return refuse("--net " + spec.net, "it knows none and host");
  if (spec.cpus != 0) return refuse("--cpus", "it enforces no limits");
  if (spec.memory_bytes != 0) return refuse("--memory", "it enforces no limits");
  if (spec.pids != 0) return refuse("--pids", "it enforces no limits");
  if (spec.disk_bytes != 0) return refuse("--disk", "it enforces no limits");
  if (spec.sys) return refuse("--sys", "it shows nothing that it does not always show");
  if (!spec.volumes.empty()) return refuse("--volume", "it can show nothing under another name");
  if (spec.directory.empty()) return fail(Errc::internal, "a landlock sandbox was given no directory");
  return {};
}

// HOME, TMPDIR and the directory to start in lie inside, whatever the caller's own are.
void settle_in(const Directories& directories, SandboxSpec& spec) {
  std::erase_if(spec.env, [](const auto& entry) { return entry.first == "HOME" || entry.first == "TMPDIR"; });
  spec.env.emplace_back("HOME", directories.workspace);
  spec.env.emplace_back("TMPDIR", directories.tmp);
  if (spec.cwd == "/workspace" || spec.cwd.starts_with("/workspace/"))
    spec.cwd = directories.workspace + spec.cwd.substr(std::string_view("/workspace").size());
  spec.cwd = start_directory(spec, directories.workspace);
}

// The workspace is as persistent as the sandbox, the temporary directory never.
Result<void> remove(const Directories& directories, bool persistent) {
  COVE_CHECK(os::remove_tree(directories.tmp));
  return persistent ? Result<void>() : os::remove_tree(directories.workspace);
}

class LandlockPlace final : public Place {
 public:
  LandlockPlace(HostProcess guest, Directories directories, bool persistent)
      : guest_(std::move(guest)), directories_(std::move(directories)), persistent_(persistent) {}
  ~LandlockPlace() override { [[maybe_unused]] const auto gone = destroy(Deadline::after(std::chrono::seconds(1))); }

  Result<Channel> connect(Deadline deadline) override { return guest_.connect(deadline); }
  void settle(SandboxSpec& spec) const override { settle_in(directories_, spec); }
  int gone_fd() const override { return guest_.gone_fd(); }
  Ended ended() override { return guest_.ended(); }
  Result<void> destroy(Deadline deadline) override {
    COVE_CHECK(guest_.destroy(deadline));
    return remove(directories_, persistent_);
  }

 private:
  HostProcess guest_;
  Directories directories_;
  bool persistent_;
};

os::LandlockSpec make_walls(const SandboxSpec& spec, const Directories& directories, const std::string& guest) {
  os::LandlockSpec walls;
  walls.tcp = wants_network(spec);
  walls.rules = {{directories.workspace, Reach::write}, {directories.tmp, Reach::write}, {guest, Reach::read}};
  for (const char* path : {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/libexec", "/opt", "/proc"})
    walls.rules.push_back({path, Reach::read});
  for (const char* name : {"null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts"})
    walls.rules.push_back({std::string("/dev/") + name, Reach::device});
  walls.rules.push_back({"/etc", Reach::list});
  os::add_public(walls.rules, "/etc");
  // Often a symlink to somewhere below /run.
  if (wants_network(spec)) walls.rules.push_back({"/etc/resolv.conf", Reach::read});
  return walls;
}

Result<void> make_directory(const std::string& path) {
  if (mkdir(path.c_str(), 0700) < 0 && errno != EEXIST) return fail_errno("make " + path);
  return {};
}

Result<HostProcess> start_guest(SandboxSpec spec, const Directories& directories) {
  COVE_TRY(const std::string guest, find_guest());
  COVE_CHECK(os::remove_tree(directories.tmp));
  COVE_CHECK(make_directory(directories.workspace));
  COVE_CHECK(make_directory(directories.tmp));
  COVE_TRY(const UniqueFd ruleset, os::make_ruleset(make_walls(spec, directories, guest)));
  const os::Walls walls{ruleset.get(),
                        wants_network(spec) ? os::host_process_filter() : os::host_process_filter_without_network()};
  settle_in(directories, spec);
  os::ExecSpec exec;
  exec.program = guest;
  for (const auto& [key, value] : spec.env) exec.env.push_back(key + "=" + value);
  exec.cwd = spec.cwd;
  exec.walls = &walls;
  return HostProcess::start(std::move(exec), "landlock");
}

Failure too_old(int abi) {
  return fail(Errc::unsupported, abi == 0 ? "this kernel has no Landlock: it needs Linux 6.2 and 'landlock' in lsm="
                                          : "this kernel's Landlock (version " + std::to_string(abi) +
                                                ") does not refuse truncate: it needs Linux 6.2");
}

}  // namespace

Probe LandlockBackend::probe(Deadline) {
  using enum Capability;
  Probe probe;
  const int abi = os::landlock_abi();
  const auto guest = find_guest();
  if (!guest) probe.why_not = guest.error().message;
  if (abi < kLeastAbi) probe.why_not = too_old(abi).value().message;
  probe.usable = probe.why_not.empty();
  if (!probe.usable) return probe;
  probe.version = "version " + std::to_string(abi);
  probe.capabilities = {session, pty, files, persistent, net_none, net_host, fs_read, fs_write, net};
  if (abi >= kSignalsAbi)
    probe.capabilities.add(pid);
  else
    probe.version += ", without 'pid': signals to this user's other processes are refused only by Linux 6.12";
  return probe;
}

Result<std::unique_ptr<Place>> LandlockBackend::start(const SandboxSpec& spec, Deadline) {
  COVE_CHECK(check(spec));
  if (const int abi = os::landlock_abi(); abi < kLeastAbi) return too_old(abi);
  Directories directories{spec.directory + "/workspace", spec.directory + "/tmp"};
  auto guest = start_guest(spec, directories);
  if (!guest) {
    [[maybe_unused]] const auto removed = remove(directories, spec.persistent);
    return fail(std::move(guest).error());
  }
  return std::make_unique<LandlockPlace>(std::move(*guest), std::move(directories), spec.persistent);
}

}  // namespace cove::landlock
