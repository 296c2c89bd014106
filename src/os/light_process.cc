#include "os/light_process.h"

#include <link.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <utility>

#include "os/clone.h"

namespace cove::os {
namespace {

constexpr std::size_t kStackBytes = std::size_t{64} << 10, kThreadBytes = std::size_t{16} << 10;
constexpr std::size_t kBytes = kThreadBytes + kStackBytes;

#if defined(__x86_64__) && defined(__GLIBC__) && !defined(COVE_ADDRESS_SANITIZER)
// What the C library's calls look at behind the thread pointer: its head (a canary, whether there are threads, itself).
constexpr std::size_t kHeadBytes = 1024;

// The program's thread variables end where the thread pointer points to.
std::size_t thread_variable_bytes() {
  std::size_t bytes = 0;
  const auto look = [](dl_phdr_info* info, std::size_t, void* found) {
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const auto& part = info->dlpi_phdr[i];
      if (part.p_type != PT_TLS) continue;
      const std::size_t unit = part.p_align == 0 ? 1 : part.p_align;
      *static_cast<std::size_t*>(found) = (part.p_memsz + unit - 1) / unit * unit;
    }
    return 1;  // the program itself comes first, and is static
  };
  dl_iterate_phdr(look, &bytes);
  return bytes;
}

// A copy of this thread's, as the new process's own: errno is in it.
bool can_copy_thread() {
  static const bool fits = thread_variable_bytes() + kHeadBytes <= kThreadBytes;
  return fits;
}

void* copy_thread(char* into) {
  static const std::size_t before = thread_variable_bytes();
  const auto* const ours = static_cast<const char*>(__builtin_thread_pointer());
  char* const copy = into + kThreadBytes - kHeadBytes;
  std::memcpy(copy - before, ours - before, before + kHeadBytes);
  const auto self = reinterpret_cast<std::uintptr_t>(copy);
  std::memcpy(copy, &self, sizeof(self));
  std::memcpy(copy + 2 * sizeof(self), &self, sizeof(self));
  return copy;
}
#else
bool can_copy_thread() { return false; }
void* copy_thread(char*) { return nullptr; }
#endif

Result<Cloned> fork_into(std::uint64_t namespaces, int (*entry)(void*), void* argument) {
  auto cloned = namespaces == 0 ? Result<Cloned>(Cloned{fork(), {}}) : clone_process(namespaces);
  if (cloned && cloned->pid == 0) _exit(entry(argument));
  if (cloned && cloned->pid < 0) return fail_errno("fork");
  return cloned;
}

}  // namespace

bool LightProcess::shares_memory() { return can_copy_thread(); }

Result<LightProcess> LightProcess::start_in(std::uint64_t namespaces, int (*entry)(void*), void* argument) {
  LightProcess process;
  if (!shares_memory()) {
    COVE_TRY(Cloned cloned, fork_into(namespaces, entry, argument));
    process.pid_ = cloned.pid;
    process.pidfd_ = std::move(cloned.pidfd);
    return process;
  }
  void* const memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return fail_errno("make a stack");
  process.memory_ = static_cast<char*>(memory);
  void* const thread = copy_thread(process.memory_);
  const int flags =
      CLONE_VM | CLONE_SETTLS | SIGCHLD | static_cast<int>(namespaces) | (namespaces != 0 ? CLONE_PIDFD : 0);
  int pidfd = -1;
  process.pid_ = clone(entry, process.memory_ + kBytes, flags, argument, &pidfd, thread, nullptr);
  if (process.pid_ < 0) return fail_errno(namespaces == 0 ? "fork" : "make new namespaces");
  process.pidfd_ = UniqueFd(pidfd);
  return process;
}

LightProcess::LightProcess(LightProcess&& other) noexcept
    : pid_(other.pid_), pidfd_(std::move(other.pidfd_)), memory_(std::exchange(other.memory_, nullptr)) {}

LightProcess& LightProcess::operator=(LightProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(pidfd_, other.pidfd_);
  std::swap(memory_, other.memory_);
  return *this;
}

LightProcess::~LightProcess() {
  if (memory_ != nullptr) munmap(memory_, kBytes);
}

}  // namespace cove::os
