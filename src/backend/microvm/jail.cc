#include "backend/microvm/jail.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>

#include "backend/engine/meaning.h"
#include "os/capabilities.h"

namespace cove::microvm {
namespace {

using native::Plan;
using native::Scene;
using native::Step;

constexpr std::uint64_t kNamespaces =
    CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP | CLONE_NEWNET;

const JailPlan& own(const Plan& plan) { return static_cast<const JailPlan&>(plan); }

bool make_file(const char* path) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  return fd >= 0 && close(fd) == 0;
}

// Flags that the source has are locked in a user namespace: they must be named again.
bool show(const char* from, const char* to, unsigned long flags) {
  if (mount(from, to, nullptr, MS_BIND, nullptr) < 0) return false;
  flags |= MS_REMOUNT | MS_BIND | MS_NOSUID;
  return mount(nullptr, to, nullptr, flags, nullptr) == 0 ||
         mount(nullptr, to, nullptr, flags | MS_NODEV, nullptr) == 0;
}

// /lib and its like are symlinks into /usr, or directories of their own.
bool show_libraries(const char* name) {
  std::array<char, 64> host{}, target{};
  std::snprintf(host.data(), host.size(), "/%s", name);
  struct stat info{};
  if (lstat(host.data(), &info) < 0) return true;
  if (S_ISDIR(info.st_mode)) return mkdir(name, 0755) == 0 && show(host.data(), name, MS_RDONLY | MS_NODEV);
  const ssize_t n = readlink(host.data(), target.data(), target.size() - 1);
  return n > 0 && symlink(target.data(), name) == 0;
}

bool furnish(const Plan& plan, Scene&) {
  if (chdir(native::kStage) < 0 || mkdir("root", 0755) < 0 ||
      mount("jail", "root", "tmpfs", MS_NOSUID, "size=65536,mode=0755") < 0 || chdir("root") < 0)
    return false;
  for (const char* directory : {"usr", "etc", "proc", "dev", "tmp"}) {
    if (mkdir(directory, 0755) < 0) return false;
  }
  if (!show("/usr", "usr", MS_RDONLY | MS_NODEV)) return false;
  for (const char* name : {"lib", "lib64", "lib32", "bin"}) {
    if (!show_libraries(name)) return false;
  }
  // Without it every library is looked for in every directory.
  if (access("/etc/ld.so.cache", R_OK) == 0 &&
      (!make_file("etc/ld.so.cache") || !show("/etc/ld.so.cache", "etc/ld.so.cache", MS_RDONLY | MS_NODEV)))
    return false;
  if (!plan.resolv_conf.empty()) {
    const int fd = open("etc/resolv.conf", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    const auto size = static_cast<ssize_t>(plan.resolv_conf.size());
    if (fd < 0 || write(fd, plan.resolv_conf.data(), plan.resolv_conf.size()) != size || close(fd) < 0) return false;
  }
  for (const char* name : {"dev/null", "dev/urandom", "dev/kvm"}) {
    if (std::string_view(name) == "dev/kvm" && !own(plan).kvm) continue;
    std::array<char, 32> host{};
    std::snprintf(host.data(), host.size(), "/%s", name);
    if (!make_file(name) || mount(host.data(), name, nullptr, MS_BIND, nullptr) < 0) return false;
  }
  return mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "hidepid=invisible") == 0;
}

bool seal_root(const Plan&, Scene&) {
  return mount(nullptr, "/", nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID, nullptr) == 0;
}

// Lifted above everything first: a source may be another one's target.
bool arrange_descriptors(const Plan& plan, Scene& scene) {
  const JailPlan& with = own(plan);
  std::array<int, 16> lifted{};
  if (with.fds.size() > lifted.size()) return errno = EMFILE, false;
  const int program = fcntl(with.program, F_DUPFD_CLOEXEC, 100), sync = fcntl(plan.sync, F_DUPFD_CLOEXEC, 100);
  const int null = fcntl(plan.null, F_DUPFD_CLOEXEC, 100), log = fcntl(with.log, F_DUPFD_CLOEXEC, 100);
  if (program < 0 || sync < 0 || null < 0 || log < 0) return false;
  for (std::size_t i = 0; i < with.fds.size(); ++i) {
    lifted[i] = fcntl(with.fds[i].from, F_DUPFD_CLOEXEC, 100);
    if (lifted[i] < 0) return false;
  }
  if (syscall(SYS_close_range, 3U, 99U, 0U) < 0) {
    for (int fd = 3; fd < 100; ++fd) close(fd);
  }
  if (dup2(null, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0) return false;
  for (std::size_t i = 0; i < with.fds.size(); ++i) {
    if (dup2(lifted[i], with.fds[i].as) < 0) return false;
  }
  scene.guest = program;
  scene.sync = sync;
  return true;
}

bool give_up_rights(const Plan& plan, Scene&) {
  const uid_t user = own(plan).become;
  const rlimit none{0, 0};
  if (setrlimit(RLIMIT_CORE, &none) < 0 || !os::bound_capabilities({})) return false;
  if (user != 0 && (syscall(SYS_setresgid, user, user, user) < 0 || syscall(SYS_setresuid, user, user, user) < 0))
    return false;
  return os::set_capabilities({}) && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

bool run_qemu(const Plan& plan, Scene& scene) {
  std::array<char*, 96> argv{};
  const auto& line = own(plan).line;
  if (line.size() >= argv.size()) return errno = E2BIG, false;
  for (std::size_t i = 0; i < line.size(); ++i) argv[i] = const_cast<char*>(line[i].c_str());
  static char path[] = "PATH=/usr/bin";
  static char* const env[] = {path, nullptr};
  setsid();
  umask(077);
  syscall(SYS_execveat, scene.guest, "", argv.data(), env, AT_EMPTY_PATH);
  return false;
}

constexpr const char* kNoRemedy = "";
constexpr std::array<Step, 10> kSteps{{
    {"wait for the keeper", native::await_keeper, kNoRemedy},
    {"become root in its namespaces", native::become_root, kNoRemedy},
    {"detach its mounts", native::detach_mounts, kNoRemedy},
    {"furnish QEMU's jail", furnish, "in a container without privileges the host's /proc is masked"},
    {"enter QEMU's jail", native::enter_root, kNoRemedy},
    {"seal QEMU's jail", seal_root, kNoRemedy},
    {"arrange its descriptors", arrange_descriptors, kNoRemedy},
    {"give up its rights", give_up_rights, kNoRemedy},
    {"tie its life to the keeper's", native::die_with_keeper, kNoRemedy},
    {"run QEMU", run_qemu, "qemu-system-x86_64 must be a program for this machine"},
}};

// Whom nothing belongs to, where there is such a one.
uid_t find_nobody(const os::Users& users) {
  constexpr uid_t kNobody = 65534;
  return users.by_root || (users.more_uids.count >= kNobody && users.more_gids.count >= kNobody) ? kNobody : 0;
}

// Of root's groups only the one that /dev/kvm is open to, which no map of ids can give later.
class KvmGroup {
 public:
  explicit KvmGroup(bool wanted) {
    struct stat info{};
    if (!wanted || stat("/dev/kvm", &info) < 0) return;
    before_.resize(static_cast<std::size_t>(std::max(getgroups(0, nullptr), 0)));
    if (getgroups(static_cast<int>(before_.size()), before_.data()) < 0) return;
    taken_ = setgroups(1, &info.st_gid) == 0;
  }
  ~KvmGroup() {
    if (taken_ && setgroups(before_.size(), before_.data()) < 0) _exit(1);
  }
  KvmGroup(const KvmGroup&) = delete;
  KvmGroup& operator=(const KvmGroup&) = delete;

 private:
  std::vector<gid_t> before_;
  bool taken_ = false;
};

}  // namespace

Result<Jail> Jail::make(JailPlan plan, const std::string& program, const os::Users& users, const os::LimitGroup& limits,
                        Deadline deadline) {
  plan.become = find_nobody(users);
  plan.drop_groups = !plan.kvm && (users.by_root || users.more_gids.count > 0);
  const KvmGroup group(plan.kvm && users.by_root);
  COVE_TRY(Jailed jailed, native::launch(plan, {program, kNamespaces, kSteps, users, &limits}, deadline));
  return Jail(std::move(plan), std::move(jailed));
}

Result<Jailed> Jail::let_go() && {
  COVE_CHECK(native::let_go(jailed_.sync.get(), plan_, jailed_.child.pid()));
  return std::move(jailed_);
}

Error explain(const native::StepFailure& failure, const JailPlan& plan) {
  return native::explain(failure, plan, kSteps);
}

std::string last_words(int log) {
  std::array<char, 4096> bytes{};
  const ssize_t n = pread(log, bytes.data(), bytes.size(), 0);
  std::string words(bytes.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  while (!words.empty() && words.back() == '\n') words.pop_back();
  if (const std::size_t line = words.rfind('\n'); line != std::string::npos) words.erase(0, line + 1);
  return engine::quotable(std::move(words));
}

}  // namespace cove::microvm
