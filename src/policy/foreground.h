#pragma once

// What should not be run in the foreground: a command that never ends by itself, and one that puts something into the
// background where nobody finds it again. The terminal tool has background commands of its own for both, which keep
// their output, can be asked for and are ended with their task.
//
//   refused  detach      nohup, disown, setsid without --wait
//            background  `x &` in a script that neither waits for its jobs nor kills them
//            server      development servers and watchers: npm run dev, docker compose up, uvicorn, python -m
//            http.server
//   hinted   endless     tail -f, watch, journalctl -f, sleep infinity, ping without -c
//            screen      programs that want a screen: vim, less, top, ...
//
// Never: what `timeout` ends, --help and --version, text in quotes, comments and here-documents, `2>&1`, `&>f`, `|&`,
// `$((5&3))`, `;;&`, `docker compose up -d`, functions that are only defined.
//
// Rejected: refusing every `&` as such, which also refuses `a & b & wait` and `server & ...; kill $!`.

#include <string>

#include "policy/shell_syntax.h"

namespace cove::policy {

struct ForegroundAdvice {
  enum class Kind : unsigned char { fine, hint, refused };
  Kind kind = Kind::fine;
  std::string rule;      // as above
  std::string sentence;  // what was found and what to do
};

ForegroundAdvice judge_foreground(const Script& script);

}  // namespace cove::policy
