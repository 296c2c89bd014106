#pragma once

#include <memory>
#include <utility>

#include "backend/native/enter.h"
#include "base/deadline.h"
#include "os/child.h"
#include "os/light_process.h"
#include "os/users.h"

namespace cove::native {

// The first process of a sandbox, from its clone to the guest. It works in the keeper's memory, so it can be begun
// before there is a plan: in its namespaces, with its users mapped and a network on its way, it waits for one. By a
// plan that is a guess it makes the place, and waits to hear for whom it is.
class FirstProcess {
 public:
  // Where it has a memory of its own (a sanitizer's build) only one with a plan can be begun.
  static bool can_wait() { return os::LightProcess::shares_memory(); }
  // In the usual namespaces, with a network that it makes itself, as far as the plan does not say otherwise.
  static Result<FirstProcess> begin(const os::Users& users, const Plan& plan, Deadline deadline);

  pid_t pid() const { return child_.pid(); }
  // It goes on, to be this; after a guess if that fits (can_become()).
  Result<void> go(const Plan& plan);
  bool can_become(const Plan& plan) const;
  // By a guess: until the place is made. From then on the sandbox's directory may have another name.
  Result<void> await_place(Deadline deadline) const;
  // A failure that it has told.
  Result<void> failure() const;

  os::Child take_child() { return std::move(child_); }
  UniqueFd take_channel() { return std::move(channel_); }
  // It runs the guest, and needs nothing of ours any more.
  void has_arrived() { memory_.reset(); }

 private:
  struct Memory {
    Entry entry;
    os::LightProcess process;
  };
  FirstProcess(std::unique_ptr<Memory> memory, UniqueFd sync, UniqueFd channel);

  std::unique_ptr<Memory> memory_;
  std::pair<dev_t, ino_t> changes_;  // where they go, by a guess
  UniqueFd sync_, channel_;
  os::Child child_;  // gone before its memory
};

// Why there are no namespaces, with what remains.
Failure refused_namespaces(const Error& error);

}  // namespace cove::native
