// New namespaces, other namespaces and mounts.

#include <unistd.h>

#include "selftest/stage.h"

namespace cove::selftest {
namespace {

constexpr std::string_view kNamespacesGroup = "namespaces and mounts";

// With the sandbox's own directory as the argument.
template <const char* Act>
Verdict in_directory(Stage& stage) {
  auto place = stage.inside();
  if (!place) return broken("could not be tried: " + place.error().text());
  return stage.tried({Act, (*place)->directory()});
}

constexpr char kMount[] = "mount_tmpfs", kBind[] = "bind_mount";

Verdict enter_host(Stage& stage) { return stage.tried({"setns", "/proc/" + stage.process().pid() + "/ns/net"}); }
Verdict enter_first(Stage& stage) { return stage.tried({"setns", "/proc/1/ns/net"}); }

// What namespaces the act is in, compared with ours.
template <const char* Kind>
Verdict shares(Stage& stage) {
  const Ran ran = stage.shell(std::string("readlink /proc/self/ns/") + Kind);
  char ours[128] = {};
  if (readlink((std::string("/proc/self/ns/") + Kind).c_str(), ours, sizeof(ours) - 1) < 0)
    return not_applicable("the kernel has no such namespace");
  return judge_outside(ran, ran.output.find(ours) != std::string::npos, std::string("shares the host's ") + ours);
}

constexpr char kPid[] = "pid", kMnt[] = "mnt", kNet[] = "net", kIpc[] = "ipc", kUts[] = "uts", kUser[] = "user",
               kCgroup[] = "cgroup";

constexpr Attempt kNamespacesAttempts[] = {
    {"unshare_user", kNamespacesGroup, "become root of a new user namespace by unshare", "unshare_user"},
    {"clone_newuser", kNamespacesGroup, "the same by clone", "clone_newuser"},
    {"clone3_newuser", kNamespacesGroup, "the same by clone3", "clone3_newuser"},
    {"unshare_mount", kNamespacesGroup, "make a mount namespace", "unshare_mount"},
    {"unshare_pid", kNamespacesGroup, "make a pid namespace", "unshare_pid"},
    {"unshare_net", kNamespacesGroup, "make a network namespace", "unshare_net"},
    {"unshare_cgroup", kNamespacesGroup, "make a cgroup namespace", "unshare_cgroup"},
    {"setns_host", kNamespacesGroup, "enter the network namespace of a process of the host", {}, enter_host},
    {"setns_first", kNamespacesGroup, "enter the network namespace of process 1", {}, enter_first},
    {"mount_tmpfs", kNamespacesGroup, "mount a tmpfs", {}, in_directory<kMount>},
    {"bind_mount", kNamespacesGroup, "bind / elsewhere", {}, in_directory<kBind>},
    {"remount", kNamespacesGroup, "change the flags of a mount", "remount"},
    {"pivot_root", kNamespacesGroup, "change the root directory", "pivot_root"},
    {"fsopen", kNamespacesGroup, "mount by the new interface", "fsopen"},
    {"open_tree", kNamespacesGroup, "clone the mount tree", "open_tree"},
    {"unmask_proc", kNamespacesGroup, "unmount what covers /proc", "unmask_proc"},
    {"shared_pid_namespace", kNamespacesGroup, "be in the host's pid namespace", {}, shares<kPid>},
    {"shared_mount_namespace", kNamespacesGroup, "be in the host's mount namespace", {}, shares<kMnt>},
    {"shared_net_namespace", kNamespacesGroup, "be in the host's network namespace", {}, shares<kNet>},
    {"shared_ipc_namespace", kNamespacesGroup, "be in the host's ipc namespace", {}, shares<kIpc>},
    {"shared_uts_namespace", kNamespacesGroup, "be in the host's uts namespace", {}, shares<kUts>},
    {"shared_user_namespace", kNamespacesGroup, "be in the host's user namespace", {}, shares<kUser>},
    {"shared_cgroup_namespace", kNamespacesGroup, "be in the host's cgroup namespace", {}, shares<kCgroup>},
};

}  // namespace

std::span<const Attempt> namespace_attempts() { return kNamespacesAttempts; }

}  // namespace cove::selftest
