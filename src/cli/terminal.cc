#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace cove::cli {
namespace {

termios saved_mode;
bool is_raw = false;
Control* resized = nullptr;

void restore() {
  if (!is_raw) return;
  is_raw = false;
  tcsetattr(STDIN_FILENO, TCSADRAIN, &saved_mode);
}

winsize window() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row == 0 || size.ws_col == 0) {
    if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row == 0 || size.ws_col == 0) {
      return {.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0};
    }
  }
  return size;
}

void on_resize(int) {
  const winsize size = window();
  if (resized != nullptr) resized->resize(size.ws_row, size.ws_col);
}

// In raw mode Ctrl-C is a byte for the other side; these come from elsewhere and mean that we must go.
void on_end(int number) {
  restore();
  std::signal(number, SIG_DFL);
  std::raise(number);
}

void on_signal(int number, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, nullptr);
}

}  // namespace

RawTerminal::RawTerminal(Control& control) {
  resized = &control;
  on_signal(SIGWINCH, on_resize);
  if (!stdin_is_terminal() || tcgetattr(STDIN_FILENO, &saved_mode) < 0) return;
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) on_signal(number, on_end);
  std::atexit(restore);
  termios raw = saved_mode;
  cfmakeraw(&raw);
  is_raw = tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
}

RawTerminal::~RawTerminal() {
  restore();
  for (const int number : {SIGWINCH, SIGINT, SIGTERM, SIGHUP, SIGQUIT}) on_signal(number, SIG_DFL);
  resized = nullptr;
}

bool stdin_is_terminal() { return isatty(STDIN_FILENO) == 1; }

void use_terminal(CommandSpec& command) {
  const winsize size = window();
  command.pty = true;
  command.rows = size.ws_row;
  command.columns = size.ws_col;
}

}  // namespace cove::cli
