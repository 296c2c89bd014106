#pragma once

#include <string>

#include "backend/microvm/kernel.h"
#include "base/deadline.h"
#include "base/error.h"

namespace cove::microvm {

// What a machine is started with, made once per kernel and guest.
struct BootFiles {
  std::string kernel;  // uncompressed
  std::string initrd;  // the guest as /init, and the kernel's modules that it needs, in their order
  std::string key;     // names both
};

// invalid: the guest is not a static program, or the kernel is none.
Result<BootFiles> make_boot_files(const std::string& cache, const Kernel& kernel, Deadline deadline);

}  // namespace cove::microvm
