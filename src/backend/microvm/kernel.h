#pragma once

// The kernel that a microVM runs: Debian's own for clouds, unless another one is named.

#include <string>
#include <string_view>

#include "base/error.h"

namespace cove::microvm {

struct Kernel {
  std::string path;
  std::string version;  // "6.1.0-54-cloud-amd64"; "" if it does not say
  std::string modules;  // the directory of its modules; "" if it has none
};

// `named`, else below /usr/lib/cove/kernel (an unpacked package), else in /boot. not_found: how to get one.
Result<Kernel> find_kernel(const std::string& named);

// Pure, and for files that nobody vouches for.
// What the header of a compressed kernel (bzImage) says; "" if it is none, or does not say.
std::string kernel_version(std::string_view file);
// The ELF file that QEMU starts without firmware: the file itself, or what is compressed in it (lz4, as Debian's).
Result<std::string> unpack_kernel(std::string_view file);
// One stream in lz4's older form, as the kernel's build uses it. `limit`: more is refused.
Result<std::string> unpack_lz4(std::string_view stream, std::size_t limit);

}  // namespace cove::microvm
