#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "os/child.h"

namespace cove::gvisor {

// A program in the namespaces of another process, as root there: how runsc reaches a sandbox of its own.
struct InsideSpec {
  pid_t of = -1;     // the process whose user, pid, mount and network namespaces are entered
  int program = -1;  // opened
  std::vector<std::string> line;
  int in = -1, out = -1, err = -1;
  int extra = -1;  // becomes 4, as kImageFd; -1: none
};

// The child of this process, and dies with the thread that made it.
Result<os::Child> run_inside(const InsideSpec& spec);

}  // namespace cove::gvisor
