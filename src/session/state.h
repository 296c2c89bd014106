#pragma once

#include <string>

namespace cove::session {

// What a shell needs to go on where the last one of its session ended. Lives in memory; is written out only for
// persistent sandboxes, by the keeper.
struct State {
  std::string cwd;
  int umask = 022;
  int last_status = 0;      // so that `$?` is what a person would see
  std::string variables;    // shell text that recreates them, one declaration after the other
  std::string text;         // shell text for the rest, to follow them in a fresh shell of the same dialect
  bool from_login = false;  // `text` still has to read the start-up files: it may fail or hang, unlike a captured one
};

}  // namespace cove::session
