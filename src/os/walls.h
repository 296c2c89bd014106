#pragma once

// What a child gives up before it becomes another program: see ExecSpec::walls.

#include <linux/filter.h>

#include <span>

namespace cove::os {

// Capabilities and new privileges go in any case.
struct Walls {
  int ruleset = -1;                     // Landlock's, lent; -1: none
  std::span<const sock_filter> filter;  // of system calls; empty: none
};

// In a child. No allocation. False: errno says why. The first while its descriptors are still there, the second last.
bool give_up_rights(const Walls& walls);
bool give_up_calls(const Walls& walls);

}  // namespace cove::os
