#pragma once

// What an archive's labels say about a snapshot.

#include <map>
#include <string>

#include "base/error.h"
#include "record/snapshots.h"

namespace cove::image {

using Labels = std::map<std::string, std::string>;

// invalid if there is more of it than the config of an image takes.
Result<Labels> labels_of(const record::Snapshot& snapshot);
// The labels are hostile. invalid: they are of no snapshot, or damaged. Sets sandbox, sessions and variables.
Result<void> read_labels(const Labels& labels, record::Snapshot& snapshot);
// All labels that are not ours.
Labels without_ours(const Labels& labels);

}  // namespace cove::image
