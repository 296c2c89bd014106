// Other processes: the host's, and the guest that started this one.

#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "selftest/acts/act.h"

namespace cove::acts {
namespace {

pid_t to_pid(const std::string& text) { return static_cast<pid_t>(std::stol(text)); }

// Outside, as bait: keeps a secret in memory, says where, and waits to be killed.
Act bait(const Args& args) {
  static char secret[64];
  std::strncpy(secret, args[0].c_str(), sizeof(secret) - 1);
  std::printf("%p\n", static_cast<void*>(secret));
  std::fflush(stdout);
  while (true) pause();
}

// args: file below /proc/PID, text. Looks for a process that has the text there.
Act find_process(const Args& args) {
  std::size_t seen = 0;
  for (const std::string& name : entries("/proc")) {
    if (std::isdigit(static_cast<unsigned char>(name[0])) == 0) continue;
    ++seen;
    if (std::stol(name) == getpid()) continue;
    if (file_holds("/proc/" + name + "/" + args[0], args[1])) return did("found in process " + name);
  }
  return refused("not in any of the " + std::to_string(seen) + " processes there are");
}

// args: pid, signal.
Act send_signal(const Args& args) {
  return by_result(kill(to_pid(args[0]), std::stoi(args[1])), "kill process " + args[0]);
}

// Without a stop; the kernel lets go when this process ends.
Act trace(const Args& args) {
  return by_result(ptrace(PTRACE_SEIZE, to_pid(args[0]), nullptr, nullptr), "ptrace(SEIZE) process " + args[0]);
}

Act trace_guest(const Args&) {
  for (const int pid : guests()) {
    if (ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) == 0) return did("ptrace(SEIZE) the guest succeeded");
  }
  return refused_by_errno("ptrace(SEIZE) the guest");
}

// args: pid, address. Prints what is there.
Act read_memory(const Args& args) {
  char secret[64] = {};
  iovec mine{secret, sizeof(secret) - 1};
  iovec theirs{reinterpret_cast<void*>(std::stoull(args[1], nullptr, 16)), sizeof(secret) - 1};
  if (process_vm_readv(to_pid(args[0]), &mine, 1, &theirs, 1, 0) < 0) return refused_by_errno("process_vm_readv");
  return did(secret);
}

// args: pid, address, text.
Act write_memory(const Args& args) {
  std::string text = args[2];
  iovec mine{text.data(), text.size()};
  iovec theirs{reinterpret_cast<void*>(std::stoull(args[1], nullptr, 16)), text.size()};
  return by_result(process_vm_writev(to_pid(args[0]), &mine, 1, &theirs, 1, 0), "process_vm_writev");
}

// The first page of the guest's program, by /proc/PID/mem.
Act guest_memory(const Args&) {
  for (const int pid : guests()) {
    const std::string base = "/proc/" + std::to_string(pid);
    std::string maps;
    if (!read_file(base + "/maps", maps) || maps.empty()) continue;
    const int memory = open((base + "/mem").c_str(), O_RDWR | O_CLOEXEC);
    char byte = 0;
    const auto start = static_cast<off_t>(std::stoull(maps, nullptr, 16));
    if (memory >= 0 && pread(memory, &byte, 1, start) == 1) return did("read the guest's memory");
  }
  return refused_by_errno("open the guest's memory");
}

// args: pid, descriptor.
Act take_descriptor(const Args& args) {
  const long process = syscall(SYS_pidfd_open, to_pid(args[0]), 0);
  if (process < 0) return refused_by_errno("pidfd_open");
  return by_result(syscall(SYS_pidfd_getfd, process, std::stoi(args[1]), 0), "pidfd_getfd");
}

Act slow_down(const Args& args) {
  return by_result(setpriority(PRIO_PROCESS, static_cast<id_t>(to_pid(args[0])), 1),
                   "setpriority of process " + args[0]);
}

Act limit_other(const Args& args) {
  rlimit limit{};
  return by_result(prlimit(to_pid(args[0]), RLIMIT_CORE, nullptr, &limit), "prlimit of process " + args[0]);
}

Act compare(const Args&) {
  constexpr int kAddressSpace = 1;
  return by_result(syscall(SYS_kcmp, getpid(), getppid(), kAddressSpace, 0, 0), "kcmp with the guest");
}

constexpr Entry kProcessesEntries[] = {
    {"bait", bait},
    {"find_process", find_process},
    {"signal", send_signal},
    {"trace", trace},
    {"trace_guest", trace_guest},
    {"read_memory", read_memory},
    {"write_memory", write_memory},
    {"guest_memory", guest_memory},
    {"take_descriptor", take_descriptor},
    {"slow_down", slow_down},
    {"limit_other", limit_other},
    {"kcmp", compare},
};

}  // namespace

std::span<const Entry> process_acts() { return kProcessesEntries; }

}  // namespace cove::acts
