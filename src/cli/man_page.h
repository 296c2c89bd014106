#pragma once

// Manual pages for man(1), made from what --help shows: the table of commands and their options.

#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/command.h"

namespace cove::cli {

struct ManualPage {
  std::string name;  // "cove-image-pull"
  std::string text;
};

// The page of one command. `members`: its sub-commands, which have pages of their own. `more`: sections in roff, put
// before the examples.
ManualPage manual_page(const Command& command, std::span<const Command> members = {}, const std::string& more = "");

// NAME.1 for each page. The directory is made if it is missing; files that are there are replaced.
Result<void> write_manual_pages(const std::string& directory, const std::vector<ManualPage>& pages);

}  // namespace cove::cli
