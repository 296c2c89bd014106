#pragma once

// The floor under everything that is allowed: commands that would end this machine are refused on backends without
// isolation, whatever was approved. It is there for accidents, not for adversaries: a program that a script starts can
// do the same without saying so. For that there are backends with isolation.
//
// Judged are commands, never text: `echo "rm -rf /"`, a commit message, a pattern for grep, a comment, a here-document
// for cat are all fine. Definitions count, because a function that is defined now can be called later.
//
//   remove       rm -r, find -delete, mv, rsync --delete of /, of a system directory or of a home directory, in any
//                spelling
//   permissions  chmod, chown, chgrp, setfacl, chattr -R of / or of a system directory
//   disk         mkfs, wipefs, partitioning, erasing; dd, cp, tee, `>` and the like onto a disk or the memory
//   file         overwriting or removing /etc/passwd and the like, writing /proc/sysrq-trigger
//   power        shutdown, reboot, halt, poweroff, init 0, kexec -e, systemctl and loginctl with the same
//   kill         every process (kill -9 -1, killall5), process 1
//   fork-bomb    a function that does nothing but start itself twice
//   too-deep     more nesting than the parser follows: nobody can say what it would run
//
// Not followed: files that are run or sourced, other languages (python -c), aliases, functions and variables of earlier
// commands, names that come through a pipe (find / | xargs rm).
//
// Rejected: a list of regular expressions, which refuses what mentions a command and misses `r\m -rf //`.

#include <string>

#include "policy/guarded_paths.h"
#include "policy/shell_syntax.h"

namespace cove::policy {

struct Verdict {
  bool refused = false;
  std::string rule;      // as above; "" if not refused
  std::string sentence;  // what was found and what to do
  // The script is not valid shell text as far as the parser can tell: what is beyond that place was not judged. Usually
  // a shell refuses it, too; a caller that wants to be sure asks a person.
  bool unsure = false;
};

Verdict judge_floor(const Script& script, const Whereabouts& where);

}  // namespace cove::policy
