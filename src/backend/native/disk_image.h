#pragma once

// A file system in a file, SANDBOX/disk: for a sandbox whose disk is limited and whose files outlive a stop.
//
// No mount table but the sandbox's own ever has it: the keeper makes the mount without a place, the first process puts
// it into its namespace, and with that it is gone. Its loop device frees itself with the last mount. So a crash leaves
// nothing to be cleared but the file, which is the sandbox's.

#include <string>

#include "base/deadline.h"
#include "base/error.h"
#include "base/unique_fd.h"
#include "os/users.h"

namespace cove::native {

// What a disk is: where its file lies, how large it is, and whose its root directory is.
struct DiskImage {
  std::string path;
  std::uint64_t bytes = 0;
  os::Users users;
};

// The mount, without a place. Makes the file if there is none. Waits for an earlier life of the sandbox to let go of
// it: a file system that is mounted twice, by two loop devices, is destroyed. unsupported: not without root, a loop
// device and mkfs.ext4; says which.
Result<UniqueFd> mount_disk(const DiskImage& disk, Deadline deadline);

// Whether it could be done here.
bool probe_disk();

// Returns when the kernel has let go of the file: after the end of the last process that saw the mount.
Result<void> await_free(const std::string& path, Deadline deadline);

}  // namespace cove::native
