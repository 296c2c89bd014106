#pragma once

// Changes for people and programs. Contents and names are a stranger's: names are quoted as git does, so a line is a
// line; but a patch has the files' own bytes, so whoever prints it to a terminal must filter escape sequences.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "changes/changes.h"

namespace cove::changes {

// The two states that `compare` was given.
struct States {
  View lower;
  std::vector<std::string> uppers;
  std::string below = {};  // a directory, with its slash, that names in a patch begin with
};

struct TextLimits {
  std::size_t most_file_bytes = std::size_t{8} << 20;  // larger files are named, not shown
  std::size_t most_bytes = std::size_t{1} << 30;       // read in all; after that files are named only
};

// Fills lines_added, lines_removed and binary of files and links. A file that has vanished since keeps none.
Result<void> count_lines(const States& states, std::vector<Change>& changes, const TextLimits& limits = {});

// A patch in git's form, accepted by `patch -p1` and `git apply`: files with their contents, links, the executable bit;
// created and removed ones against /dev/null. What a patch cannot say (binary and large files, other modes, special
// files) is named in lines that both programs pass over. Directories appear by their files, as with git. `sink` gets
// whole sections, in order. A file in place of a directory, or the other way round, is beyond `patch`, not beyond git.
using Sink = std::function<Result<void>(std::string_view)>;
Result<void> write_patch(const States& states, const std::vector<Change>& changes, const Sink& sink,
                         const TextLimits& limits = {});

// As `git diff --stat`, from counted changes: a line for each but directories, and a sum. At most `width` columns where
// names allow it.
std::string stat_text(const std::vector<Change>& changes, std::size_t width = 80);

// [{"path","change","kind","size_before","size","mode_before","mode","lines_added","lines_removed","binary"}]: modes as
// "0644", null for what does not apply. Also "kind_before" and "not_listed" where they say something, "owner_before"
// and "owner" ("0:0") where the owner changed, and "path_hex" where the path is no UTF-8.
std::string to_json(const std::vector<Change>& changes);

// As git quotes it: as it is, or in double quotes with C escapes if it has a control, a quote, a backslash or a byte
// above 126.
std::string quote_path(std::string_view path);

}  // namespace cove::changes
