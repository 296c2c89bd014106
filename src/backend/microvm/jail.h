#pragma once

// QEMU behind walls of its own: whoever breaks out of a machine is nobody, in namespaces in which there is nothing but
// QEMU's own program and the descriptors that it was given.
// Guarantees: no capabilities, no new privileges, no network but what was connected, no file of the host but /usr to
// read; it dies with the thread that launched it. As root, or with a range in /etc/subuid, it is a user of its own;
// otherwise the caller, in that empty place.

#include <string>
#include <vector>

#include "backend/native/enter.h"
#include "backend/native/plan.h"
#include "base/deadline.h"
#include "os/child.h"
#include "os/exec.h"
#include "os/limits.h"
#include "os/users.h"

namespace cove::microvm {

struct JailPlan : native::Plan {
  int program = -1;  // QEMU, opened
  std::vector<std::string> line;
  std::vector<os::FdGift> fds;  // what it finds open; 0, 1 and 2 are added
  int log = -1;                 // its standard error
  bool kvm = false;             // shown /dev/kvm
  uid_t become = 0;             // inside
};

struct Jailed {
  os::Child qemu;
  UniqueFd sync;  // holds a StepFailure, if there was one
  UniqueFd log;   // what QEMU says, a memory file
};

// Between making it and letting it go its network can be connected.
class Jail {
 public:
  static Result<Jail> make(JailPlan plan, const std::string& program, const os::Users& users,
                           const os::LimitGroup& limits, Deadline deadline);
  pid_t pid() const { return jailed_.qemu.pid(); }
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
