#pragma once

#include <string>

#include "base/error.h"

namespace cove {

// A program of ours that comes with this one: where $VARIABLE says, else beside this program, else in
// ../libexec/cove from it.
Result<std::string> find_companion(const std::string& name, const std::string& variable);

// For a library: the folder where `cove` and its companions are, which is not that of the program it is loaded by. Set
// once, before anything is looked for; "" as long as nobody has.
void set_program_folder(std::string folder);
const std::string& program_folder();

// The guest program on this machine: the companion `cove-guest`, or $COVE_GUEST.
Result<std::string> find_guest();

}  // namespace cove
