#pragma once

#include "cli/arguments.h"
#include "client/cove.h"

namespace cove::cli {

// Sub-commands that take nothing but the name of a sandbox that runs: `act` gets it, and gives the exit code.
int on_sandbox(Arguments& arguments, std::vector<std::string> words, int (*act)(Sandbox&));
void describe_name(Arguments& arguments);

}  // namespace cove::cli
