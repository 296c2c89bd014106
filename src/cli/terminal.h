#pragma once

#include "client/cove.h"

namespace cove::cli {

// The user's terminal in raw mode, for as long as this lives; the old mode comes back on every way out, also when a
// signal ends the program. While it lives, changes of the window's size go to `control`.
class RawTerminal {
 public:
  explicit RawTerminal(Control& control);
  ~RawTerminal();
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;
};

// Fills in pty, rows and columns from our terminal.
void use_terminal(CommandSpec& command);
bool stdin_is_terminal();

}  // namespace cove::cli
