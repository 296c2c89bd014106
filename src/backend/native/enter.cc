#include "backend/native/enter.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "backend/native/mounts.h"
#include "backend/native/volumes.h"
#include "backend/native/walls.h"
#include "os/exec.h"

namespace cove::native {
namespace {

constexpr int kGuestFd = 3;

bool name_host(const Plan& plan, Scene&) { return sethostname(plan.hostname.c_str(), plan.hostname.size()) == 0; }

bool arrange_descriptors(const Plan& plan, Scene& scene) {
  // Lifted above everything first: a source may be another one's target.
  const int channel = fcntl(plan.channel, F_DUPFD_CLOEXEC, 100), null = fcntl(plan.null, F_DUPFD_CLOEXEC, 100);
  const int guest = fcntl(scene.guest, F_DUPFD_CLOEXEC, 100), sync = fcntl(plan.sync, F_DUPFD_CLOEXEC, 100);
  if (channel < 0 || null < 0 || guest < 0 || sync < 0) return false;
  for (const int standard : {0, 1, 2}) {
    if (dup2(null, standard) < 0) return false;
  }
  if (dup2(channel, kGuestFd) < 0) return false;
  scene.guest = guest;
  scene.sync = sync;
  // All of ours are close-on-exec already; this is for those that a library may have opened.
  if (syscall(SYS_close_range, kGuestFd + 1, ~0U, CLOSE_RANGE_CLOEXEC) == 0) return true;
  for (int fd = kGuestFd + 1; fd < 1024; ++fd) fcntl(fd, F_SETFD, FD_CLOEXEC);
  return true;
}

bool await_name(const Plan& plan, Scene&) {
  if (!plan.is_guess) return true;
  char byte = kReady;
  if (send(plan.sync, &byte, 1, MSG_NOSIGNAL) != 1) return false;
  ssize_t n = 0;
  do n = recv(plan.sync, &byte, 1, 0);
  while (n < 0 && errno == EINTR);
  if (n == 0) errno = ECONNRESET;
  return n == 1;
}

bool run_guest(const Plan&, Scene& scene) {
  static char name[] = "cove-guest";
  static char* const argv[] = {name, nullptr};
  static char* const env[] = {nullptr};
  setsid();
  umask(022);
  syscall(SYS_execveat, scene.guest, "", argv, env, AT_EMPTY_PATH);
  return false;
}

constexpr const char* kNoRemedy = "";
constexpr const char* kAboutSys =
    "the kernel shows /sys only where nothing of this machine's own /sys is hidden, as it is in a container";
constexpr std::array<Step, 26> kSteps{{
    {"begin its network", begin_network, kNoRemedy},
    {"wait for the keeper", await_keeper, kNoRemedy},
    {"open the layers of its root", open_layers, "the image, cove-guest and COVE_HOME must be readable by this user"},
    {"open its volumes", open_volumes, "a volume's path must be there, be a directory or file and hold no symlinks"},
    {"become root inside", become_root, kNoRemedy},
    {"tie its life to the keeper's", die_with_keeper, kNoRemedy},
    {"detach its mounts", detach_mounts, kNoRemedy},
    {"open the volumes to copy", open_copies, kNoRemedy},
    {"begin its layers", begin_layers, kNoRemedy},
    {"mount its root", mount_layers,
     "COVE_HOME must be on a file system that an overlay can write to (ext4, xfs, btrfs or tmpfs)"},
    {"mount /proc", mount_proc, "in a container without privileges the host's /proc is masked: use --backend landlock"},
    {"make /dev", mount_dev, kNoRemedy},
    {"mask /proc", mask_proc, kNoRemedy},
    {"mount the layers of its root", place_layers, kNoRemedy},
    {"mount its volumes", mount_volumes, "every volume needs a path inside that is free of symlinks"},
    {"write /etc/resolv.conf", write_resolver, kNoRemedy},
    {"bring the guest in", bring_guest, "cove-guest must be executable by everybody"},
    {"enter its network", enter_network, kNoRemedy},
    {"mount /sys", mount_sys, kAboutSys},
    {"mask /sys", mask_sys, kNoRemedy},
    {"enter its root", enter_root, kNoRemedy},
    {"wait to be asked for", await_name, kNoRemedy},
    {"name its host", name_host, kNoRemedy},
    {"arrange its descriptors", arrange_descriptors, kNoRemedy},
    {"raise its walls", raise_walls, kNoRemedy},
    {"run the guest", run_guest, "cove-guest must be a static program for this machine"},
}};
constexpr std::size_t kWithoutPlan = 2, kByGuess = 22;
static_assert(kSteps[kWithoutPlan - 1].act == await_keeper && kSteps[kByGuess - 1].act == await_name);

void begin(Scene& scene, int sync) {
  scene.sync = sync;
  os::reset_signals();
}

// False after a failure that was told.
bool walk(const Plan& plan, Scene& scene, std::span<const Step> steps, std::size_t from) {
  scene.plan = &plan;
  for (std::size_t i = from; i < steps.size(); ++i) {
    if (steps[i].act(plan, scene)) continue;
    const StepFailure failure{static_cast<int>(i), errno, scene.at};
    [[maybe_unused]] const auto n = write(scene.sync, &failure, sizeof(failure));
    return false;
  }
  return true;
}

}  // namespace

// The keeper's word that the ids are mapped, and the volumes' mounts. A keeper that died says nothing: end of file,
// if nobody else has its end.
bool await_keeper(const Plan& plan, Scene& scene) {
  close(plan.keepers_sync);
  char byte = 0;
  iovec piece{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kMostVolumes)> control{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t n = 0;
  do n = recvmsg(plan.sync, &message, MSG_CMSG_CLOEXEC);
  while (n < 0 && errno == EINTR);
  if (n != 1) {
    errno = n == 0 ? ECONNRESET : errno;
    return false;
  }
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return true;
  const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  std::memcpy(scene.volumes.data(), CMSG_DATA(header), count * sizeof(int));
  return true;
}

// The kernel forbids looks at a memory whose owner has changed, but this may be the keeper's as well.
bool become_root(const Plan& plan, Scene&) {
  if (plan.drop_groups && syscall(SYS_setgroups, 0, nullptr) < 0) return false;
  const int dumpable = prctl(PR_GET_DUMPABLE);
  return syscall(SYS_setresgid, 0, 0, 0) == 0 && syscall(SYS_setresuid, 0, 0, 0) == 0 &&
         (dumpable != 1 || prctl(PR_SET_DUMPABLE, 1) == 0);
}

// After the change of user, which clears it. A keeper that died before this closed the channel, and the guest sees
// that.
bool die_with_keeper(const Plan&, Scene&) { return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0; }

Result<void> let_go(int sync, const Plan& plan, pid_t child) {
  std::vector<UniqueFd> trees;
  if (plan.volumes_are_sent && !plan.volumes.empty()) {
    const UniqueFd users(open(("/proc/" + std::to_string(child) + "/ns/user").c_str(), O_RDONLY | O_CLOEXEC));
    if (!users) return fail_errno("open the sandbox's user namespace");
    for (const Volume& volume : plan.volumes) {
      COVE_TRY(UniqueFd tree, clone_volume(volume, users.get()));
      trees.push_back(std::move(tree));
    }
  }
  char byte = 'g';
  iovec piece{&byte, 1};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kMostVolumes)> control{};
  if (!trees.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(sizeof(int) * trees.size());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * trees.size());
    for (std::size_t i = 0; i < trees.size(); ++i) {
      const int fd = trees[i].get();
      std::memcpy(CMSG_DATA(header) + i * sizeof(int), &fd, sizeof(int));
    }
  }
  if (sendmsg(sync, &message, MSG_NOSIGNAL) != 1) return fail_errno("let the sandbox go on");
  return {};
}

void enter(Entry& entry) {
  begin(entry.scene, entry.waiting.sync);
  const std::span steps(kSteps);
  if (walk(entry.waiting, entry.scene, steps.first(kWithoutPlan), 0) &&
      walk(entry.plan, entry.scene, steps.first(kByGuess), kWithoutPlan))
    walk(entry.final, entry.scene, steps, kByGuess);
}

void walk(const Plan& plan, std::span<const Step> steps) {
  Scene scene;
  begin(scene, plan.sync);
  walk(plan, scene, steps, 0);
}

Error explain(const StepFailure& failure, const Plan& plan) {
  Error error = explain(failure, plan, kSteps);
  // It needs something that the image has not.
  if (failure.step == static_cast<int>(kSteps.size()) - 1) error.code = Errc::unsupported;
  return error;
}

Error explain(const StepFailure& failure, const Plan& plan, std::span<const Step> steps) {
  const auto step = static_cast<std::size_t>(failure.step);
  if (step >= steps.size()) return {Errc::internal, "the sandbox's first process failed in a way that it cannot say"};
  std::string what = steps[step].what;
  const auto at = static_cast<std::size_t>(failure.detail);
  if (steps[step].act == mount_volumes || steps[step].act == open_volumes || steps[step].act == open_copies) {
    if (failure.detail >= 0 && at < plan.volumes.size())
      what += " (" + plan.volumes[at].source + " at " + plan.volumes[at].target + ")";
  } else if (failure.detail >= 0 && at < plan.layers.size()) {
    what += " (" + plan.layers[at].target + ")";
  }
  Error error = errno_error(failure.number, what);
  if (*steps[step].remedy != '\0') error.message += std::string("; ") + steps[step].remedy;
  return error;
}

}  // namespace cove::native
