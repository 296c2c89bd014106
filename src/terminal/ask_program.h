#pragma once

#include <chrono>
#include <string>

#include "policy/approval.h"

namespace cove::terminal {

// A program in the place of a person: `sh -c PROGRAM` reads the command on stdin, COVE_ASK_TASK and COVE_ASK_WHY tell
// the rest, and what it prints is the answer: once, session, always or deny. Whatever else it prints, how ever it ends,
// and silence for longer than `limit`, are no.
policy::Ask ask_program(const std::string& program, std::chrono::milliseconds limit);

}  // namespace cove::terminal
