// Parts of the kernel that a sandbox has no business with: each is a system call that must be refused.

#include "selftest/stage.h"

namespace cove::selftest {
namespace {

constexpr std::string_view kGroup = "kernel surface";

Verdict disk_node(Stage& stage) {
  auto place = stage.inside();
  if (!place) return broken("could not be tried: " + place.error().text());
  // 254 is what a virtual machine's first disk has, 8 a real one's.
  for (const char* major : {"254", "8", "259", "7"}) {
    Verdict verdict = stage.tried({"device_node", (*place)->directory(), "block", major, "0"});
    if (verdict.finding == Finding::broken || major == std::string("7")) return verdict;
  }
  return {};
}

Verdict memory_node(Stage& stage) {
  auto place = stage.inside();
  if (!place) return broken("could not be tried: " + place.error().text());
  return stage.tried({"device_node", (*place)->directory(), "char", "1", "1"});
}

constexpr Attempt kAttempts[] = {
    {"bpf", kGroup, "make a BPF map", "bpf"},
    {"perf_event_open", kGroup, "count events of the processor", "perf_event"},
    {"add_key", kGroup, "put a key on a keyring", "add_key"},
    {"keyctl", kGroup, "look at the session's keyring", "keyctl"},
    {"userfaultfd", kGroup, "handle page faults", "userfaultfd"},
    {"io_uring", kGroup, "set up an io_uring", "io_uring"},
    {"fanotify", kGroup, "watch a file system", "fanotify"},
    {"open_by_handle_at", kGroup, "open a file by its handle, around every path", "open_by_handle"},
    {"personality", kGroup, "make everything that can be read executable", "personality"},
    {"set_clock", kGroup, "set the clock", "set_clock"},
    {"set_hostname", kGroup, "set the host's name", "set_hostname"},
    {"set_domainname", kGroup, "set the host's domain", "set_domainname"},
    {"real_time_priority", kGroup, "run before everything else", "real_time"},
    {"read_kernel_log", kGroup, "read the kernel's log", "read_kernel_log"},
    {"af_alg", kGroup, "open a socket of the kernel's ciphers", "af_alg"},
    {"af_vsock", kGroup, "open a socket to the hypervisor", "af_vsock"},
    {"kexec_load", kGroup, "load another kernel", "kexec_load"},
    {"kexec_file_load", kGroup, "load another kernel from a file", "kexec_file_load"},
    {"init_module", kGroup, "load a module", "init_module"},
    {"finit_module", kGroup, "load a module from a file", "finit_module"},
    {"delete_module", kGroup, "unload a module", "delete_module"},
    {"reboot", kGroup, "reboot", "reboot"},
    {"swapon", kGroup, "swap to a file", "swapon"},
    {"quotactl", kGroup, "change quotas", "quotactl"},
    {"acct", kGroup, "switch process accounting", "acct"},
    {"iopl", kGroup, "use every port of the machine", "iopl"},
    {"ioperm", kGroup, "use one port of the machine", "ioperm"},
    {"int80_bypass", kGroup, "make a refused call by the 32-bit entry", "int80_bypass"},
    {"x32_bypass", kGroup, "make a refused call by an x32 number", "x32_bypass"},
    {"mknod_disk", kGroup, "make a node for a disk and open it", {}, disk_node},
    {"mknod_memory", kGroup, "make a node for the machine's memory and open it", {}, memory_node},
    {"host_devices", kGroup, "find devices of the host in /dev", "devices"},
    {"ptrace_guest", kGroup, "attach to the guest", "trace_guest"},
    {"guest_memory", kGroup, "open the guest's memory", "guest_memory"},
    {"kcmp_guest", kGroup, "compare descriptors with the guest's", "kcmp"},
};

}  // namespace

std::span<const Attempt> kernel_attempts() { return kAttempts; }

}  // namespace cove::selftest
