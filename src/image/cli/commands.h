#pragma once

// The sub-commands of `cove image`, as cli/command.h describes them; one file each.

#include <span>

#include "cli/arguments.h"
#include "cli/command.h"
#include "image/store.h"

namespace cove::image {

using cli::Arguments;
using cli::Command;

std::span<const Command> image_commands();
// Of $COVE_HOME.
Result<Store> open_store();

extern const Command kImport, kInspect, kLoad, kLs, kPrune, kRm, kSave;

}  // namespace cove::image
