#pragma once

// Snapshots as archives: an ordinary image, which docker and podman load and run, of the base image's layers and of
// those that the snapshot adds. What only we know of (sessions, variables for new ones) stands in labels of its config.

#include <string>
#include <string_view>
#include <vector>

#include "backend/native/plan.h"
#include "image/archives.h"
#include "image/store.h"
#include "record/snapshots.h"

namespace cove::image {

// What an imported snapshot stands on is kept in the store under this and its tag. A registry has no such name.
inline constexpr std::string_view kSnapshotNames = "localhost/snapshot:";

struct SnapshotArchive {
  ArchiveSpec archive;
  std::vector<std::string> notes;  // sentences for whoever asked: what is not in it, and how much it is
};
// What the archive of a snapshot is made of; nothing is written. `home` is $COVE_HOME.
Result<SnapshotArchive> plan_archive(Store& store, const std::string& home, const record::Snapshot& snapshot);

// The overlays of a sandbox as layers of an image, bottom first: each has at most one directory of every overlay.
std::vector<std::vector<TreePart>> stacked(const std::vector<native::Layer>& overlays, TreeKind kind);

// Takes such an archive into the store and saves the snapshot, complete or not at all. conflict: the tag is taken.
// invalid: the archive is of no snapshot.
Result<record::Snapshot> import_snapshot(Store& store, int fd, const std::string& tag);

}  // namespace cove::image
