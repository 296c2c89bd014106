#include "os/cgroup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace cove::os {

Cgroup::Cgroup(UniqueFd parent, UniqueFd directory, UniqueFd procs, std::string name)
    : parent_(std::move(parent)), directory_(std::move(directory)), procs_(std::move(procs)), name_(std::move(name)) {}

Result<Cgroup> Cgroup::make(const std::string& parent, const std::string& name) {
  UniqueFd above(open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!above) return fail_errno("open the cgroup " + parent);
  if (mkdirat(above.get(), name.c_str(), 0755) < 0 && errno != EEXIST) return fail_errno("make a cgroup in " + parent);
  UniqueFd directory(openat(above.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory) return fail_errno("open the cgroup " + parent + "/" + name);
  UniqueFd procs(openat(directory.get(), "cgroup.procs", O_RDWR | O_CLOEXEC));
  if (!procs) return fail_errno("open cgroup.procs in " + parent + "/" + name);
  return Cgroup(std::move(above), std::move(directory), std::move(procs), name);
}

Cgroup::~Cgroup() {
  if (parent_) unlinkat(parent_.get(), name_.c_str(), AT_REMOVEDIR);
}

bool Cgroup::is_empty() const {
  char byte = 0;
  return pread(procs_.get(), &byte, 1, 0) == 0;
}

bool Cgroup::kill() const {
  const UniqueFd killer(openat(directory_.get(), "cgroup.kill", O_WRONLY | O_CLOEXEC));
  return killer && write(killer.get(), "1", 1) == 1;
}

}  // namespace cove::os
