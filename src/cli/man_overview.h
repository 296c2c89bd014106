#pragma once

#include "cli/man_page.h"

namespace cove::cli {

// `cove` itself, for cove(1) and for the examples of 'cove --help'. It is not in the table of commands.
extern const Command kCove;

// cove(1): all sub-commands, variables and files.
ManualPage manual_overview();

}  // namespace cove::cli
