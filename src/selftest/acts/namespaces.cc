// New namespaces, other namespaces, mounts.

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "selftest/acts/act.h"

namespace cove::acts {
namespace {

template <int Flag>
Act unshare_now(const Args&) {
  return by_result(unshare(Flag), "unshare");
}

template <int Flag>
Act unshare_in_child(const Args& args) {
  return in_child(unshare_now<Flag>, args);
}

// A child that ends at once; the call itself is the act.
template <class Call>
Act by_clone(Call call, std::string_view what) {
  const long pid = call();
  if (pid == 0) _exit(0);
  const Act act = by_result(pid, what);
  if (pid > 0) waitpid(static_cast<pid_t>(pid), nullptr, 0);
  return act;
}

Act clone_newuser(const Args&) {
  return by_clone([] { return syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, nullptr, nullptr, nullptr, nullptr); },
                  "clone(CLONE_NEWUSER)");
}

Act clone3_newuser(const Args&) {
  clone_args args{};
  args.flags = CLONE_NEWUSER;
  args.exit_signal = SIGCHLD;
  return by_clone([&] { return syscall(SYS_clone3, &args, sizeof(args)); }, "clone3(CLONE_NEWUSER)");
}

// args: a namespace's path.
Act enter_now(const Args& args) {
  const int ns = open(args[0].c_str(), O_RDONLY | O_CLOEXEC);
  if (ns < 0) return refused_by_errno("open " + args[0]);
  return by_result(setns(ns, 0), "setns to " + args[0]);
}

// args: a directory of ours.
Act mount_tmpfs(const Args& args) {
  const std::string at = args[0] + "/mount";
  mkdir(at.c_str(), 0700);
  const Act act = by_result(mount("cove", at.c_str(), "tmpfs", 0, "size=4k"), "mount a tmpfs");
  if (act.result == Result::did) umount2(at.c_str(), MNT_DETACH);
  rmdir(at.c_str());
  return act;
}

Act bind_mount(const Args& args) {
  const std::string at = args[0] + "/bind";
  mkdir(at.c_str(), 0700);
  const Act act = by_result(mount("/", at.c_str(), nullptr, MS_BIND, nullptr), "bind / elsewhere");
  if (act.result == Result::did) umount2(at.c_str(), MNT_DETACH);
  rmdir(at.c_str());
  return act;
}

Act remount_root(const Args&) {
  return by_reach(mount(nullptr, "/nonexistent", nullptr, MS_REMOUNT | MS_BIND, nullptr), "remount");
}

Act pivot(const Args&) { return by_reach(syscall(SYS_pivot_root, "/nonexistent", "/nonexistent"), "pivot_root"); }

Act new_mount_api(const Args&) { return by_result(syscall(SYS_fsopen, "tmpfs", 1), "fsopen"); }

Act clone_tree(const Args&) {
  return by_result(syscall(SYS_open_tree, AT_FDCWD, "/", 1 | O_CLOEXEC), "open_tree(OPEN_TREE_CLONE)");
}

// Takes away what covers the dangerous files of /proc. In a mount namespace of its own where it can have one, so that a
// host without walls keeps its covers.
Act unmask_now(const Args&) {
  if (unshare(CLONE_NEWNS) == 0) return did("a mount namespace of its own, in which everything can be unmounted");
  for (const char* cover : {"/proc/sys", "/proc/kcore", "/proc/keys", "/proc/sysrq-trigger", "/proc/acpi", "/tmp"}) {
    if (umount2(cover, MNT_DETACH) == 0) return did(std::string("unmounted ") + cover);
  }
  return refused_by_errno("umount2");
}

constexpr Entry kNamespacesEntries[] = {
    {"unshare_user", unshare_in_child<CLONE_NEWUSER>},
    {"unshare_mount", unshare_in_child<CLONE_NEWNS>},
    {"unshare_pid", unshare_in_child<CLONE_NEWPID>},
    {"unshare_net", unshare_in_child<CLONE_NEWNET>},
    {"unshare_cgroup", unshare_in_child<CLONE_NEWCGROUP>},
    {"clone_newuser", clone_newuser},
    {"clone3_newuser", clone3_newuser},
    {"setns", [](const Args& args) { return in_child(enter_now, args); }},
    {"mount_tmpfs", mount_tmpfs},
    {"bind_mount", bind_mount},
    {"remount", remount_root},
    {"pivot_root", pivot},
    {"fsopen", new_mount_api},
    {"open_tree", clone_tree},
    {"unmask_proc", [](const Args& args) { return in_child(unmask_now, args); }},
};

}  // namespace

std::span<const Entry> namespace_acts() { return kNamespacesEntries; }

}  // namespace cove::acts
