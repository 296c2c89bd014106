#pragma once

// What QEMU is told. Pure: everything that it may use comes as a descriptor under a fixed number.

#include <cstdint>
#include <string>
#include <vector>

#include "backend/microvm/accel.h"

namespace cove::microvm {

// What QEMU finds open.
enum Fd : int {
  qmp_fd = 3,  // orders
  channel_fd,  // the guest's streams
  control_fd,
  files_fd,
  console_fd,  // what the kernel says when it ends; to write
  ram_fd,
  root_fd,    // the root's image; to read
  kernel_fd,  // these two are missing where a machine goes on from its memory
  initrd_fd,
  disk_fd,  // the sandbox's own; missing where its files are in memory
};

// The size and form of a machine. Memory that was saved fits only the same.
struct Shape {
  std::uint64_t memory_mib = 512;
  unsigned cpus = 1;
  std::uint64_t disk_mib = 0;  // 0: its files are in memory
  bool network = false;
};

// The memory of one that boots is the file itself; what one writes that goes on from a saved one stays in its process.
enum class Begin : unsigned char { boot, restore };
struct LineSpec {
  Shape shape;
  Accel accel;
  Begin begin = Begin::boot;
};
std::vector<std::string> qemu_line(const LineSpec& spec);

// The kernel's own options.
std::string kernel_line(const LineSpec& spec);

}  // namespace cove::microvm
