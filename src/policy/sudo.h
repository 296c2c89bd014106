#pragma once

#include <string>
#include <string_view>

#include "policy/shell_syntax.h"

namespace cove::policy {

// A script in which every `sudo` that is really run reads its password from stdin and says nothing about it. The caller
// puts `count` lines with the password in front of what the command reads; the password never stands in the text.
// Text that mentions sudo, `sudo -n`, `-S` and `-A`, and sudo within other scripts (sh -c '...') or behind xargs, whose
// stdin is not the command's, stay as they are.
struct SudoRewrite {
  std::string text;
  unsigned count = 0;
};
SudoRewrite sudo_reads_stdin(std::string_view text, const Script& script);

}  // namespace cove::policy
