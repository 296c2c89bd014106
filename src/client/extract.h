#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/unique_fd.h"

namespace cove {

// Writes the entries of an archive that nobody vouches for below one directory, and nowhere else.
//
// Every path is walked from the directory's descriptor, component by component, without following a symlink, so what
// the archive says about symlinks cannot lead a later entry out. Absolute paths and `..` are refused. Only files,
// directories, symlinks and hard links to what this archive has brought are made; the rest is skipped. Owners and the
// setuid, setgid and sticky bits are not taken over.
//
// archive_write_disk would do most of this, but only below the process's working directory, which belongs to the
// caller.
class Extractor {
 public:
  explicit Extractor(UniqueFd root) : root_(std::move(root)) {}

  struct Entry {
    std::string path;  // relative; "" is not allowed
    mode_t mode = 0;   // type and permissions
    timespec mtime{};
    std::string link;  // target of a symlink, or (hard_link) a path in the archive
    bool hard_link = false;
  };
  // Makes the entry; for a file, what is written to the result becomes its content until finish_file().
  // An empty descriptor: there is no content to write.
  Result<UniqueFd> add(const Entry& entry);
  Result<void> finish_file(int file, const Entry& entry);
  // Directories get their modes and times last, because filling them changes both.
  Result<void> finish();

 private:
  struct Slot {
    UniqueFd parent;
    std::string name;
  };
  Result<Slot> locate(std::string_view path);
  Result<void> add_directory(const Slot& slot, const Entry& entry);

  UniqueFd root_;
  std::vector<Entry> directories_;
};

// Refuses what an archive of ours never has: absolute, empty or endless paths, and `..`.
Result<void> check_entry_path(std::string_view path);

}  // namespace cove
