#pragma once

#include <string>

#include "policy/shell_syntax.h"

namespace cove::policy {

// What an exit code that is not 0 means, as a sentence, or "" if nothing more can be said than that it failed:
// `grep` with 1 has found nothing, which is no error. The command that gave the code is found in the script's text:
// the last one that decides it, through pipelines, `&&`, if, loops, subshells, sudo, timeout, `sh -c` and the like.
// Codes of the shell itself (126, 127, 128 + signal) are explained for any command.
// Rejected: looking for the last `|`, `;` or `&&` in the text, which finds those in quotes, too.
std::string exit_meaning(const Script& script, int code);

}  // namespace cove::policy
