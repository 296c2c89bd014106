// Parts of the kernel that a sandbox has no business with.

#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/fanotify.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>

#include "selftest/acts/act.h"

namespace cove::acts {
namespace {

Act bpf(const Args&) {
  bpf_attr attr{};
  attr.map_type = BPF_MAP_TYPE_ARRAY;
  attr.key_size = 4;
  attr.value_size = 8;
  attr.max_entries = 1;
  return by_result(syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)), "bpf(MAP_CREATE)");
}

Act perf_event(const Args&) {
  perf_event_attr attr{};
  attr.size = sizeof(attr);
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_TASK_CLOCK;
  attr.exclude_kernel = 1;
  return by_result(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0), "perf_event_open");
}

constexpr int kProcessKeyring = -2, kSessionKeyring = -3, kGetKeyringId = 0;

Act add_key(const Args&) {
  return by_result(syscall(SYS_add_key, "user", "cove-selftest", "x", 1, kProcessKeyring), "add_key");
}

Act keyctl(const Args&) {
  return by_result(syscall(SYS_keyctl, kGetKeyringId, kSessionKeyring, 1), "keyctl(GET_KEYRING_ID)");
}

Act userfaultfd(const Args&) {
  constexpr int kUserModeOnly = 1;
  return by_result(syscall(SYS_userfaultfd, kUserModeOnly | O_CLOEXEC), "userfaultfd");
}

Act io_uring(const Args&) {
  io_uring_params params{};
  return by_result(syscall(SYS_io_uring_setup, 1, &params), "io_uring_setup");
}

Act fanotify(const Args&) {
  return by_result(syscall(SYS_fanotify_init, FAN_CLASS_NOTIF | FAN_REPORT_FID, O_RDONLY), "fanotify_init");
}

// Asks for a handle of the root directory and opens it again, as the "Shocker" exploit did to leave its container.
Act open_by_handle(const Args&) {
  alignas(file_handle) unsigned char room[sizeof(file_handle) + MAX_HANDLE_SZ] = {};
  auto* handle = reinterpret_cast<file_handle*>(room);
  handle->handle_bytes = MAX_HANDLE_SZ;
  int mount_id = 0;
  const int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (name_to_handle_at(AT_FDCWD, "/", handle, &mount_id, 0) < 0) {
    // Without a handle to start from the exploit guesses one: an ext4 root is inode 2.
    handle->handle_bytes = 8;
    handle->handle_type = 1;
    const std::uint32_t inode = 2;
    std::memcpy(handle->f_handle, &inode, sizeof(inode));
  }
  return by_result(open_by_handle_at(root, handle, O_RDONLY), "open_by_handle_at");
}

Act change_personality(const Args&) {
  constexpr unsigned long kReadImpliesExec = 0x0400000;
  return by_result(syscall(SYS_personality, kReadImpliesExec), "personality(READ_IMPLIES_EXEC)");
}

// The same status once more: needs the right to set the clock, changes nothing.
Act set_clock(const Args&) {
  timex now{};
  if (adjtimex(&now) < 0) return refused_by_errno("adjtimex");
  timex same{};
  same.modes = ADJ_STATUS;
  same.status = now.status;
  return by_result(adjtimex(&same), "adjtimex(ADJ_STATUS)");
}

Act read_kernel_log(const Args&) {
  constexpr int kReadAll = 3;
  char buffer[4096];
  return by_result(syscall(SYS_syslog, kReadAll, buffer, sizeof(buffer)), "syslog(READ_ALL)");
}

Act af_alg(const Args&) { return by_result(socket(AF_ALG, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), "socket(AF_ALG)"); }

Act af_vsock(const Args&) { return by_result(socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket(AF_VSOCK)"); }

Act same_hostname(const Args&) {
  char name[HOST_NAME_MAX + 1] = {};
  gethostname(name, sizeof(name));
  return by_result(sethostname(name, std::strlen(name)), "sethostname to the name it has");
}

Act same_domainname(const Args&) {
  char name[HOST_NAME_MAX + 1] = {};
  if (getdomainname(name, sizeof(name)) < 0) return refused_by_errno("getdomainname");
  return by_result(setdomainname(name, std::strlen(name)), "setdomainname to the name it has");
}

Act real_time(const Args&) {
  const sched_param param{.sched_priority = 1};
  return by_result(sched_setscheduler(0, SCHED_FIFO, &param), "sched_setscheduler(SCHED_FIFO)");
}

constexpr Entry kKernelEntries[] = {
    {"bpf", bpf},
    {"perf_event", perf_event},
    {"add_key", add_key},
    {"keyctl", keyctl},
    {"userfaultfd", userfaultfd},
    {"io_uring", io_uring},
    {"fanotify", fanotify},
    {"open_by_handle", open_by_handle},
    {"personality", change_personality},
    {"set_clock", set_clock},
    {"read_kernel_log", read_kernel_log},
    {"af_alg", af_alg},
    {"af_vsock", af_vsock},
    {"set_hostname", same_hostname},
    {"set_domainname", same_domainname},
    {"real_time", real_time},
};

}  // namespace

std::span<const Entry> kernel_acts() { return kKernelEntries; }

}  // namespace cove::acts
