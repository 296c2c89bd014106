#pragma once

// QEMU behind walls of its own: whoever breaks out of a machine is nobody, in namespaces in which there is nothing but
// QEMU's own program and the descriptors that it was given.
// Guarantees: no capabilities, no new privileges, no network but what was connected, no file of the host but /usr to
// read; it dies with the thread that launched it. As root, or with a range in /etc/subuid, it is a user of its own;
// otherwise the caller, in that empty place.

#include <string>
#include <vector>

#include "backend/native/program.h"
#include "os/exec.h"

namespace cove::microvm {

struct JailPlan : native::ProgramPlan {  // the log is its standard error
  std::vector<std::string> line;
  std::vector<os::FdGift> fds;  // what it finds open; 0, 1 and 2 are added
  bool kvm = false;             // shown /dev/kvm
  uid_t become = 0;             // inside
};

using Jailed = native::Launched;

// Between making it and letting it go its network can be connected.
class Jail {
 public:
  static Result<Jail> make(JailPlan plan, const std::string& program, const os::Users& users,
                           const os::LimitGroup& limits, Deadline deadline);
  pid_t pid() const { return jailed_.child.pid(); }
  Result<Jailed> let_go() &&;

 private:
  Jail(JailPlan plan, Jailed jailed) : plan_(std::move(plan)), jailed_(std::move(jailed)) {}
  JailPlan plan_;
  Jailed jailed_;
};

Error explain(const native::StepFailure& failure, const JailPlan& plan);
// What QEMU said last; "" if nothing.
std::string last_words(int log);

}  // namespace cove::microvm
