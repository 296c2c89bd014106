#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/error.h"
#include "base/unique_fd.h"

namespace cove::os {

struct Cloned {
  pid_t pid = 0;  // 0: this is the new process
  UniqueFd pidfd;
};

// fork() with namespaces: one clone3, or clone where that is refused (old kernels, filters of container engines). The
// child must take no lock unless this process has one thread, and must not return into code that believes itself to be
// the parent.
Result<Cloned> clone_process(std::uint64_t namespaces);

}  // namespace cove::os
