#pragma once

// The modules of a kernel's package that a machine needs before it has files of its own.

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace cove::microvm {

struct Module {
  std::string name, path;
};

// From the directory of a kernel's modules (KERNEL/lib/modules/VERSION), each after those that it needs itself. What is
// not there is part of the kernel, and so is everything if the directory is "". unsupported: they are compressed.
Result<std::vector<Module>> modules_for_machine(const std::string& directory);

// Which others a module says that it needs. Pure, and for files that nobody vouches for.
std::vector<std::string> needed_by(std::string_view module);

}  // namespace cove::microvm
