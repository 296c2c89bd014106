#pragma once

// Brings what a sandbox changed in a copy-on-write directory (`upper`, an overlay's upper layer over DIR) back to DIR.
//
// Guarantees: nothing outside DIR is written, and no symlink in it is followed; no other file system mounted below DIR
// is entered. A host file that changed since the copy began, and is not what would be written, is a conflict: listed,
// never overwritten. With a conflict nothing at all is written, unless `partial` is set. Each file is written aside (in
// a hidden directory in DIR), synced and renamed: an interruption leaves whole files only, and what is aside is removed
// by the next apply. When the disk is full, or anything else fails while writing aside, DIR is as before. Never
// brought: setuid and setgid bits, devices, fifos, sockets, extended attributes; links that are absolute or may lead
// out of DIR, unless `links` is set. All of that is listed as refused.
// Not guaranteed: a change on the host that leaves a file's ctime as it was (a directory renamed into place, a change
// in the very clock tick of `base`) is not seen; hard links and extended attributes of replaced host files are not
// kept; a host file with several names that was deleted meanwhile comes back, as the kernel keeps no mark of it. A file
// that was renamed and edited inside is a conflict if its new directory changed on the host: it may have been deleted
// there.

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "changes/written.h"

namespace cove::changes {

struct Owner {
  uid_t uid = 0;
  gid_t gid = 0;
};

struct ApplyOptions {
  std::vector<std::string> only;  // patterns (glob.h); none: everything
  bool dry_run = false;           // say what would be done
  bool partial = false;           // do what has no conflict
  bool links = false;             // bring links that are absolute or lead out of DIR, too
  std::optional<Owner> owner;     // of new files; the process's own by default. Replaced ones keep theirs.
  timespec base{};                // when the copy began, by CLOCK_REALTIME
  std::vector<Written> already;   // what earlier applies returned
  std::uint64_t most_bytes = std::uint64_t{64} * (1ULL << 30);  // of one file; a larger one is refused
  std::uint64_t most_entries = 4'000'000;
};

struct AppliedChange {
  enum class What : unsigned char { added, changed, removed };
  std::string path;
  What what = What::changed;
  bool directory = false;
};
std::string_view name(AppliedChange::What what);

// A path and a sentence's worth of reason.
struct Objection {
  std::string path, reason;
};

struct Applied {
  std::vector<AppliedChange> changes;  // done; or, if nothing was written, what would be
  std::vector<Objection> conflicts;
  std::vector<Objection> refused;
  bool wrote = false;            // false: a dry run, or there are conflicts
  std::vector<Written> written;  // for the next apply's `already`: of this one and of those before
};

// An error means that nothing was written. busy: another apply works in DIR, or the disk is full.
Result<Applied> apply(const std::string& upper, const std::string& host_dir, const ApplyOptions& options);

}  // namespace cove::changes
