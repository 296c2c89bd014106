#pragma once

#include "client/cove.h"

namespace cove::cli {

enum class Input : unsigned char { none, ours };

// A program with our terminal as its own, raw until it ends; the exit code. Ctrl-C goes inside.
int run_on_terminal(Sandbox& sandbox, CommandSpec command, Input input);

}  // namespace cove::cli
