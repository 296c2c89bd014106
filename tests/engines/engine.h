#pragma once

// What tests of engines share.

#include <gtest/gtest.h>

#include <string>

#include "client/cove.h"
#include "helpers/home.h"
#include "helpers/process.h"
#include "helpers/program.h"

namespace cove::engines {

using namespace std::chrono_literals;
using testing_helpers::backend_name;
using testing_helpers::Done;
using testing_helpers::eventually;
using testing_helpers::home;
using testing_helpers::kPatience;
using testing_helpers::make_spec;
using testing_helpers::run_cove;

inline Call soon() { return {.deadline = Deadline::after(5min), .stop = {}}; }

// The engine's own program, as its users call it; stdout and stderr together.
Done engine(const std::string& words);
// Ids of the containers of a sandbox, running or not; "" if there are none.
std::string containers_of(const std::string& sandbox);
// A line of bash in it: its output, or what went wrong.
std::string said(Sandbox& sandbox, const std::string& script);
// Throws if it cannot be made: no later line would mean anything.
Sandbox create(const SandboxSpec& spec);
// One that does not end with us.
SandboxSpec lasting_spec();
pid_t keeper_of(const std::string& name);

}  // namespace cove::engines
