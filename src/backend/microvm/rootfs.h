#pragma once

// A sandbox's image as one read-only block device: an erofs file that holds all its layers, made once and shared by
// every machine that stands on it.
//
// A stored image has the owners that its makers gave it; a directory those that it has on disk, or, without root, the
// caller's files become root's. The image `host` is what the native backend shows of this machine, as it is when the
// file is made (again after a package was installed), owned by root; documentation and what its reader may not read are
// left out.

#include <string>

#include "base/deadline.h"
#include "base/error.h"
#include "base/unique_fd.h"
#include "os/users.h"
#include "spec/spec.h"

namespace cove::microvm {

struct RootImage {
  std::string path, key;
  bool made = false;  // now
};

// unsupported: mkfs.erofs is missing.
Result<RootImage> make_root_image(const SandboxSpec& spec, const os::Users& users, const std::string& cache,
                                  Deadline deadline);

// mkfs.erofs, along PATH and where it usually is.
Result<std::string> find_program(const std::string& name, const std::string& remedy);

}  // namespace cove::microvm
