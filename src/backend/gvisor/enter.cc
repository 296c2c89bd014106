#include "backend/gvisor/enter.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "backend/gvisor/bundle.h"

namespace cove::gvisor {
namespace {

using native::Plan;
using native::Scene;
using native::Step;

const RunscPlan& own(const Plan& plan) { return static_cast<const RunscPlan&>(plan); }

// runsc finds itself and its children there. The host's own is of another pid namespace.
bool mount_own_proc(const Plan&, Scene&) {
  return mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0;
}

bool bring_guest(const Plan&, Scene& scene) {
  const int made = open(kGuest, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
  if (made < 0) return false;
  close(made);
  std::array<char, 64> from{};
  std::snprintf(from.data(), from.size(), "/proc/self/fd/%d", scene.guest);
  if (mount(from.data(), kGuest, nullptr, MS_BIND, nullptr) < 0) return false;
  constexpr unsigned long kFlags = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID;
  return mount(nullptr, kGuest, nullptr, kFlags, nullptr) == 0 ||
         mount(nullptr, kGuest, nullptr, kFlags | MS_NODEV, nullptr) == 0;
}

bool write_bundle(const Plan& plan, Scene&) {
  if (mkdir(kState, 0700) < 0 || mkdir(kBundle, 0700) < 0 || chdir(kBundle) < 0) return false;
  const int fd = open("config.json", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  const std::string& text = own(plan).config;
  const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(fd);
  return written && chdir("/") == 0;
}

// Lifted above everything first: a source may be another one's target.
bool arrange_descriptors(const Plan& plan, Scene& scene) {
  const RunscPlan& with = own(plan);
  const int null = fcntl(plan.null, F_DUPFD_CLOEXEC, 100), log = fcntl(with.log, F_DUPFD_CLOEXEC, 100);
  const int program = fcntl(with.program, F_DUPFD_CLOEXEC, 100), sync = fcntl(plan.sync, F_DUPFD_CLOEXEC, 100);
  const int image = with.image >= 0 ? fcntl(with.image, F_DUPFD_CLOEXEC, 100) : null;
  if (null < 0 || log < 0 || program < 0 || sync < 0 || image < 0) return false;
  for (const int standard : {0, 1, 2}) {
    if (dup2(null, standard) < 0) return false;
  }
  if (dup2(log, kLogFd) < 0 || dup2(image, kImageFd) < 0) return false;
  scene.guest = program;
  scene.sync = sync;
  if (syscall(SYS_close_range, kImageFd + 1, ~0U, CLOSE_RANGE_CLOEXEC) == 0) return true;
  for (int fd = kImageFd + 1; fd < 1024; ++fd) fcntl(fd, F_SETFD, FD_CLOEXEC);
  return true;
}

bool run_runsc(const Plan& plan, Scene& scene) {
  std::array<char*, 32> argv{};
  const auto& line = own(plan).line;
  for (std::size_t i = 0; i < line.size() && i + 1 < argv.size(); ++i) argv[i] = const_cast<char*>(line[i].c_str());
  static char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  static char* const env[] = {path, nullptr};
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  setsid();
  umask(022);
  syscall(SYS_execveat, scene.guest, "", argv.data(), env, AT_EMPTY_PATH);
  return false;
}

constexpr const char* kNoRemedy = "";
constexpr std::array<Step, 17> kSteps{{
    {"open the layers of its root", native::open_layers,
     "the image, cove-guest and COVE_HOME must be readable by this user"},
    {"open its volumes", native::open_volumes,
     "a volume's path must be there, be a directory or file and hold no symlinks"},
    {"wait for the keeper", native::await_keeper, kNoRemedy},
    {"become root inside", native::become_root, kNoRemedy},
    {"tie its life to the keeper's", native::die_with_keeper, kNoRemedy},
    {"detach its mounts", native::detach_mounts, kNoRemedy},
    {"open the volumes to copy", native::open_copies, kNoRemedy},
    {"begin its layers", native::begin_layers, kNoRemedy},
    {"mount its root", native::mount_layers,
     "COVE_HOME must be on a file system that an overlay can write to (ext4, xfs, btrfs or tmpfs)"},
    {"mount the layers of its root", native::place_layers, kNoRemedy},
    {"mount its volumes", native::mount_volumes, "every volume needs a path inside that is free of symlinks"},
    {"write /etc/resolv.conf", native::write_resolver, kNoRemedy},
    {"bring the guest in", bring_guest, "cove-guest must be executable by everybody"},
    {"mount /proc", mount_own_proc, "in a container without privileges the host's /proc is masked"},
    {"write its bundle", write_bundle, kNoRemedy},
    {"arrange its descriptors", arrange_descriptors, kNoRemedy},
    {"run runsc", run_runsc, "runsc must be a program for this machine"},
}};

constexpr std::array<Step, 7> kProbeSteps{{
    {"wait for the keeper", native::await_keeper, kNoRemedy},
    {"become root inside", native::become_root, kNoRemedy},
    {"tie its life to the keeper's", native::die_with_keeper, kNoRemedy},
    {"detach its mounts", native::detach_mounts, kNoRemedy},
    {"mount /proc", mount_own_proc, "in a container without privileges the host's /proc is masked"},
    {"arrange its descriptors", arrange_descriptors, kNoRemedy},
    {"run runsc", run_runsc, "runsc must be a program for this machine"},
}};

}  // namespace

std::span<const Step> steps_of(const RunscPlan& plan) {
  if (plan.probes) return kProbeSteps;
  return kSteps;
}

Error explain(const native::StepFailure& failure, const RunscPlan& plan) {
  return native::explain(failure, plan, steps_of(plan));
}

}  // namespace cove::gvisor
