#include "os/seccomp.h"

#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cove::os {
namespace {

// kSandbox, kHostProcess, kHostProcessWithoutNetwork: written by seccomp_compile.
#include "seccomp_filters.inc"

}  // namespace

std::span<const sock_filter> sandbox_filter() { return kSandbox; }
std::span<const sock_filter> host_process_filter() { return kHostProcess; }
std::span<const sock_filter> host_process_filter_without_network() { return kHostProcessWithoutNetwork; }

bool install_filter(std::span<const sock_filter> filter) {
  const sock_fprog program{static_cast<unsigned short>(filter.size()), const_cast<sock_filter*>(filter.data())};
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

}  // namespace cove::os
