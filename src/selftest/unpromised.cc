#include "selftest/unpromised.h"

#include <algorithm>
#include <array>

#include "backend/traits.h"
#include "spec/spec.h"

namespace cove::selftest {
namespace {

struct Exception {
  std::string_view attempt, why;
};

constexpr std::string_view kMetadata = "Landlock does not cover modes, owners and times";
constexpr std::string_view kShared = "it has no namespaces of its own";
constexpr std::string_view kProc = "it shows the host's /proc";

constexpr std::array<Exception, 21> kLandlock{{
    {"change_mode", kMetadata},
    {"touch_system_program", kMetadata},
    {"change_read_only_modes", kMetadata},
    {"see_host_process", kShared},
    {"slow_host_process", "priorities of this user's processes can be changed"},
    {"root_of_host", kShared},
    {"see_host_ports", kProc},
    {"see_host_sockets", kProc},
    {"shared_pid_namespace", kShared},
    {"shared_mount_namespace", kShared},
    {"shared_net_namespace", kShared},
    {"shared_ipc_namespace", kShared},
    {"shared_uts_namespace", kShared},
    {"shared_user_namespace", kShared},
    {"shared_cgroup_namespace", kShared},
    {"read_keys", kProc},
    {"read_timer_list", kProc},
    {"read_kcore", kProc},
    {"read_sched_debug", kProc},
    {"overwrite_guest", "whether Landlock refuses it cannot be seen while the guest runs"},
    {"host_terminal", "terminals of this user stay reachable"},
}};

constexpr std::string_view kUsers = "containers of an engine that does not map users share the host's";
constexpr std::string_view kFilter = "the engine's own system call filter allows it";

constexpr std::array<Exception, 7> kEngine{{
    {"root_of_host", kUsers},
    {"shared_user_namespace", kUsers},
    {"io_uring", kFilter},
    {"af_vsock", kFilter},
    {"inject_keys", kFilter},
    {"inject_keys_long", kFilter},
    {"overwrite_first_process", "the engine's init is mounted read-only, which is not seen while it runs"},
}};

// Podman's filter is made for containers in which others are made.
constexpr std::array<Exception, 6> kPodman{{
    {"keyctl", kFilter},
    {"int80_bypass", kFilter},
    {"unshare_user", kFilter},
    {"clone_newuser", kFilter},
    {"clone3_newuser", kFilter},
    {"remount", kFilter},
}};

constexpr std::string_view kGvisors = "it is gVisor's own, and what it reaches is inside";

constexpr std::array<Exception, 13> kGvisor{{
    {"seccomp_filter", "gVisor's kernel decides by itself and needs no filter to show"},
    {"root_of_host", "the users that gVisor shows are its own: outside, all of it is one without privileges"},
    {"io_uring", kGvisors},
    {"read_kernel_log", kGvisors},
    {"host_devices", kGvisors},
    {"unshare_user", kGvisors},
    {"clone_newuser", kGvisors},
    {"unshare_mount", kGvisors},
    {"unshare_cgroup", kGvisors},
    {"unmask_proc", kGvisors},
    {"write_any_sysctl", kGvisors},
    {"exhaust_processors", "the processor time that gVisor shows is its own estimate"},
    {"escape_oom_killer", "the kernel that ends processes sees gVisor, not the processes inside"},
}};

// A machine has a kernel, devices and a root of its own: what these reach is inside.
constexpr std::array<std::string_view, 77> kOfTheMachine{"read_host_disks",
                                                         "no_new_privs",
                                                         "seccomp_filter",
                                                         "capabilities",
                                                         "setuid_program",
                                                         "file_capabilities",
                                                         "root_of_host",
                                                         "dump_core",
                                                         "change_interface",
                                                         "raw_socket",
                                                         "packet_socket",
                                                         "bpf",
                                                         "perf_event_open",
                                                         "add_key",
                                                         "keyctl",
                                                         "userfaultfd",
                                                         "io_uring",
                                                         "fanotify",
                                                         "personality",
                                                         "set_clock",
                                                         "set_hostname",
                                                         "set_domainname",
                                                         "real_time_priority",
                                                         "read_kernel_log",
                                                         "kexec_load",
                                                         "kexec_file_load",
                                                         "init_module",
                                                         "finit_module",
                                                         "delete_module",
                                                         "reboot",
                                                         "swapon",
                                                         "quotactl",
                                                         "acct",
                                                         "iopl",
                                                         "ioperm",
                                                         "int80_bypass",
                                                         "mknod_disk",
                                                         "mknod_memory",
                                                         "host_devices",
                                                         "ptrace_guest",
                                                         "guest_memory",
                                                         "kcmp_guest",
                                                         "unshare_user",
                                                         "clone_newuser",
                                                         "clone3_newuser",
                                                         "unshare_mount",
                                                         "unshare_pid",
                                                         "unshare_net",
                                                         "unshare_cgroup",
                                                         "setns_first",
                                                         "mount_tmpfs",
                                                         "bind_mount",
                                                         "remount",
                                                         "pivot_root",
                                                         "fsopen",
                                                         "open_tree",
                                                         "unmask_proc",
                                                         "shared_pid_namespace",
                                                         "shared_ipc_namespace",
                                                         "shared_uts_namespace",
                                                         "shared_user_namespace",
                                                         "shared_cgroup_namespace",
                                                         "write_core_pattern",
                                                         "write_any_sysctl",
                                                         "write_irq",
                                                         "write_sysfs",
                                                         "write_kernel_log",
                                                         "read_keys",
                                                         "read_timer_list",
                                                         "read_kernel_symbols",
                                                         "list_firmware",
                                                         "overwrite_guest",
                                                         "overwrite_first_process",
                                                         "change_cgroup",
                                                         "escape_oom_killer",
                                                         "inject_keys",
                                                         "inject_keys_long"};

std::string_view of_machine(std::string_view attempt) {
  if (attempt == "exhaust_processors") return "a machine that is held back does not see that its clock goes on";
  return std::find(kOfTheMachine.begin(), kOfTheMachine.end(), attempt) == kOfTheMachine.end()
             ? ""
             : "it is the machine's own, and what it reaches is inside";
}

constexpr std::array<Exception, 3> kApptainer{{
    {"shared_cgroup_namespace", "apptainer makes none"},
    {"write_any_sysctl", "apptainer's /proc has those of its own pid namespace, which are nobody else's"},
    {"read_keys", "apptainer's /proc tells how many keys this user has"},
}};

template <std::size_t N>
std::string_view find(const std::array<Exception, N>& all, std::string_view attempt) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Exception& exception) { return exception.attempt == attempt; });
  return found == all.end() ? "" : found->why;
}

}  // namespace

std::string_view unpromised(std::string_view backend, std::string_view attempt) {
  if (backend == "landlock") return find(kLandlock, attempt);
  if (backend == "podman" && !find(kPodman, attempt).empty()) return find(kPodman, attempt);
  if (backend == "apptainer") return find(kApptainer, attempt);
  if (backend == "gvisor") return find(kGvisor, attempt);
  if (backend == "microvm") return of_machine(attempt);
  return traits_of(backend).images == Images::engine ? find(kEngine, attempt) : "";
}

}  // namespace cove::selftest
