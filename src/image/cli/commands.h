#pragma once

// The sub-commands of `cove image`, as cli/command.h describes them; one file each.

#include <span>

#include "cli/command.h"
#include "cli/print.h"
#include "cli/subcommand.h"
#include "image/store.h"

namespace cove::image {

using cli::Arguments;
using cli::Command;
using cli::describe_with;
using cli::Need;
using cli::print;
using cli::report;
using cli::run_with;

std::span<const Command> image_commands();
// Of 'cove snapshot', which runs them as "snapshot-export" and "snapshot-import".
std::span<const Command> snapshot_commands();

// Of $COVE_HOME.
Result<Store> open_store();
// not_found with the way out if there is none.
Result<Image> find_image(const Store& store, const std::string& name);
// For people and for --json.
std::string json_of(const Image& image);

extern const Command kImport, kInspect, kLoad, kLs, kPrune, kPull, kRm, kSave;
extern const Command kSnapshotExport, kSnapshotImport;

}  // namespace cove::image
