#pragma once

#include <string>

#include "base/error.h"
#include "base/unique_fd.h"

namespace cove::os {

// A cgroup v2 of one command, below a directory that was delegated to us. What is in it dies at once and together,
// however fast it forks. Removed with the object, when it is empty by then.
class [[nodiscard]] Cgroup {
 public:
  static Result<Cgroup> make(const std::string& parent, const std::string& name);
  Cgroup(Cgroup&&) noexcept = default;
  Cgroup& operator=(Cgroup&&) noexcept = default;
  ~Cgroup();

  // A process that writes "0" to it enters the group.
  int procs() const { return procs_.get(); }
  // False: the kernel has no cgroup.kill (before 5.14).
  bool kill() const;
  bool is_empty() const;

 private:
  Cgroup(UniqueFd parent, UniqueFd directory, UniqueFd procs, std::string name);

  UniqueFd parent_, directory_, procs_;
  std::string name_;
};

}  // namespace cove::os
