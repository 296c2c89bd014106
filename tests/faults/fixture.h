#pragma once

// Sandboxes that outlive their clients, and the processes behind them, to be killed.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/cove.h"
#include "helpers/home.h"
#include "helpers/process.h"
#include "helpers/yardstick.h"

namespace cove::faults {

using namespace std::chrono_literals;
using testing_helpers::eventually;
using testing_helpers::home;
using testing_helpers::kPatience;
using testing_helpers::make_spec;
using testing_helpers::Seconds;
using testing_helpers::set_env;
using testing_helpers::Yardstick;

// For calls that must come back: only one that hangs takes that long.
inline Call soon() { return {.deadline = Deadline::after(kPatience)}; }

// As make_spec, but it does not end with us; every process inside has `mark` in its environment.
SandboxSpec lasting_spec();
std::string mark_of(const std::string& name);
Sandbox create(const SandboxSpec& spec);  // throws if it cannot be made: no later line would mean anything

pid_t keeper_of(const std::string& name);  // 0 if it does not run
pid_t guest_of(const std::string& name);
// Processes inside this sandbox, the guest not among them.
std::vector<pid_t> inside(const std::string& name);

// What is known about a command, from the keeper if it lives, from the sandbox's record if not.
struct Truth {
  bool started = false;
  Outcome outcome;
};
Truth ask(const std::string& name, const std::string& id);

// Waits until nothing of the sandbox runs; says what does. Then forgets it, so that no file stays either.
void expect_nothing_left(const std::string& name, const std::vector<pid_t>& pids);

class Faults : public ::testing::Test {
 protected:
  void TearDown() override;  // no process and no file of any test stays
};

}  // namespace cove::faults
