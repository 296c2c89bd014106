// Parts of the kernel that a sandbox has no business with: each is a system call that must be refused.

#include "selftest/stage.h"

namespace cove::selftest {
namespace {

constexpr std::string_view kKernelGroup = "kernel surface";

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

constexpr Attempt kKernelAttempts[] = {
    {"bpf", kKernelGroup, "make a BPF map", "bpf"},
    {"perf_event_open", kKernelGroup, "count events of the processor", "perf_event"},
    {"add_key", kKernelGroup, "put a key on a keyring", "add_key"},
    {"keyctl", kKernelGroup, "look at the session's keyring", "keyctl"},
    {"userfaultfd", kKernelGroup, "handle page faults", "userfaultfd"},
    {"io_uring", kKernelGroup, "set up an io_uring", "io_uring"},
    {"fanotify", kKernelGroup, "watch a file system", "fanotify"},
    {"open_by_handle_at", kKernelGroup, "open a file by its handle, around every path", "open_by_handle"},
    {"personality", kKernelGroup, "make everything that can be read executable", "personality"},
    {"set_clock", kKernelGroup, "set the clock", "set_clock"},
    {"set_hostname", kKernelGroup, "set the host's name", "set_hostname"},
    {"set_domainname", kKernelGroup, "set the host's domain", "set_domainname"},
    {"real_time_priority", kKernelGroup, "run before everything else", "real_time"},
    {"read_kernel_log", kKernelGroup, "read the kernel's log", "read_kernel_log"},
    {"af_alg", kKernelGroup, "open a socket of the kernel's ciphers", "af_alg"},
    {"af_vsock", kKernelGroup, "open a socket to the hypervisor", "af_vsock"},
    {"kexec_load", kKernelGroup, "load another kernel", "kexec_load"},
    {"kexec_file_load", kKernelGroup, "load another kernel from a file", "kexec_file_load"},
    {"init_module", kKernelGroup, "load a module", "init_module"},
    {"finit_module", kKernelGroup, "load a module from a file", "finit_module"},
    {"delete_module", kKernelGroup, "unload a module", "delete_module"},
    {"reboot", kKernelGroup, "reboot", "reboot"},
    {"swapon", kKernelGroup, "swap to a file", "swapon"},
    {"quotactl", kKernelGroup, "change quotas", "quotactl"},
    {"acct", kKernelGroup, "switch process accounting", "acct"},
    {"iopl", kKernelGroup, "use every port of the machine", "iopl"},
    {"ioperm", kKernelGroup, "use one port of the machine", "ioperm"},
    {"int80_bypass", kKernelGroup, "make a refused call by the 32-bit entry", "int80_bypass"},
    {"x32_bypass", kKernelGroup, "make a refused call by an x32 number", "x32_bypass"},
    {"mknod_disk", kKernelGroup, "make a node for a disk and open it", {}, disk_node},
    {"mknod_memory", kKernelGroup, "make a node for the machine's memory and open it", {}, memory_node},
    {"host_devices", kKernelGroup, "find devices of the host in /dev", "devices"},
    {"ptrace_guest", kKernelGroup, "attach to the guest", "trace_guest"},
    {"guest_memory", kKernelGroup, "open the guest's memory", "guest_memory"},
    {"kcmp_guest", kKernelGroup, "compare descriptors with the guest's", "kcmp"},
};

}  // namespace

std::span<const Attempt> kernel_attempts() { return kKernelAttempts; }

}  // namespace cove::selftest
