#pragma once

// The first program of a microVM. Only as process 1 of a kernel that runs nothing else.

#include <string>

#include "base/error.h"
#include "base/unique_fd.h"

namespace cove::guest {

struct Ports {
  UniqueFd channel, control;
  UniqueFd disk;  // a place on the sandbox's own; none if its files are in memory
};

// Loads the kernel's modules, puts the root together (the image below, memory or the sandbox's own disk above), enters
// it and finds the ports. On failure the machine is of no use: see give_up().
Result<Ports> begin_machine();

// One of the machine's ports, by its name; blocking.
Result<UniqueFd> open_port(const std::string& name);

// Says why on the console, where the keeper reads it, and ends the machine.
[[noreturn]] void give_up(const std::string& why);
// Ends the machine; what is on its disk is safe.
[[noreturn]] void end_machine();

// Where commands get groups of their own; "" if there are none.
std::string command_groups();

}  // namespace cove::guest
