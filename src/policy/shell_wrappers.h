#pragma once

// Which commands run other commands, and where in their words those stand.

#include <string>
#include <vector>

#include "policy/shell_syntax.h"

namespace cove::policy {

struct InnerCommands {
  std::vector<std::vector<Word>> commands;  // as words: sudo, env, xargs, find -exec, ...
  std::vector<std::string> scripts;         // as text: sh -c, eval, su -c, trap, ...
};

// A command word that is a variable runs what the script put into it, or, if nothing is known of it, perhaps the words
// behind it (`$SUDO rm x`).
InnerCommands inner_commands(const SimpleCommand& outer, const Script& script);

bool is_shell(std::string_view name);
// A shell without `-c` and without a file.
bool reads_script_from_stdin(const SimpleCommand& command);

}  // namespace cove::policy
