#pragma once

// The shell contract, as texts: what a session's shell is started with, what it is told, and what it tells when it
// ends.
//
// A shell is prepared before its command is known. It gets five descriptors:
//
//   3 kStateFd    a memfd with Preload::text; the shell loads it first
//   6 kReadyFd    a pipe: kLoaded when that is done (and the command has provably not begun), kEnded when the command
//                 is over and the capture says how; when its state is there too, kCaptured by a shell that ends and
//                 kWaits by one that could run another command
//   4 kGoFd       a pipe: the shell waits here; end of file instead of a line means that it is not needed. After kEnded
//                 it waits a moment for kHeard, so that it is not in the way of those who tell the caller
//   7 kCommandFd  a memfd with the command's text, written before the go
//   5 kCaptureFd  a memfd for the state afterwards, written when the command is over or by an EXIT trap, so also after
//                 `exit` or `set -e`
//
// A shell runs another command if that could not tell it from a fresh one: nothing is left in its process, nor in what
// is no state (is_as_before). What it can tell by is its age: $$, $SECONDS and RANDOM go on.
//
// While the command runs all five are closed; the shell itself keeps what it still needs as saved, close-on-exec ones
// (5 as 10, 6 as 11), so that nothing the command starts can see it. A user's function or alias of any name, xtrace,
// verbose, DEBUG traps, closed descriptors or a broken PATH must not disturb any of this: only builtins are used,
// reached through names that a session cannot keep.
//
// What is lost with a clear conscience: a command that replaces the EXIT trap *and* calls `exit` keeps no changes;
// `exec` and `kill -9 $$` neither; a function named `builtin` lives only as long as its command; `set -v` followed by
// `exit` shows the trap's text.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "session/state.h"

namespace cove::session {

inline constexpr int kStateFd = 3, kGoFd = 4, kCaptureFd = 5, kReadyFd = 6, kCommandFd = 7;
inline constexpr int kLastFd = kCommandFd;  // a shell that waits has no descriptor beyond it

inline constexpr char kLoaded = 'r', kEnded = 'e', kCaptured = 'd', kWaits = 'w';
inline constexpr std::string_view kHeard = "heard\n";  // what the shell is told when kEnded has arrived

struct CommandText {
  std::string_view script;
  std::string_view cwd;  // "" stays; ~ and ~user are expanded by the shell
  int last_status = 0;
  std::string_view again = {};  // the session's directory, to be entered once more: "" if the shell stands in it
};

// What a fresh shell starts with, to be in a state. Plain exported values travel in the environment, where a shell
// takes them for nothing; text costs it a statement each.
struct Preload {
  std::vector<std::string> env;  // K=V
  std::string text;
};

// Always in a session's shell's environment: bash would look them up through NSS otherwise.
inline constexpr std::array<std::string_view, 3> kBaseNames{"HOME", "SHELL", "PATH"};

// In the environment of a shell that is started before its session: to load a locale costs more than all the rest, and
// most sessions have this one.
inline constexpr std::string_view kUsualLocale = "LC_CTYPE=C.UTF-8";

// How a command ended. Told before the state: nobody has to wait for that but the session's next command.
struct Ending {
  int status = 0;
  std::string cwd;
};

class Dialect {
 public:
  virtual ~Dialect() = default;
  virtual std::string_view name() const = 0;  // "bash" or "sh"
  // Arguments of the shell, the program's name first.
  virtual const std::vector<std::string>& argv() const = 0;
  // ... of a shell that is started before anybody knows for whom: it loads blank_beginning(), writes kLoaded, and waits
  // on kGoFd for a line that says that more of kStateFd is there. Empty: not in this dialect.
  virtual const std::vector<std::string>& blank_argv() const = 0;
  virtual std::string blank_beginning() const = 0;
  // What is added for a session that begins. The shell has been somewhere else, at another time: `seed` is for its
  // random numbers.
  virtual std::string blank_rest(const State& state, std::uint32_t seed) const = 0;
  // The state of a session that begins: the environment (K=V), then the login files if asked for.
  virtual State begin(const std::vector<std::string>& env, std::string_view cwd, bool login) const = 0;
  virtual Preload preload(const State& state) const = 0;
  // What goes into kCommandFd.
  virtual std::string command(const CommandText& command) const = 0;
  // What came out of kCaptureFd. nullopt: it is not whole, the session stays as it was. With `own_cwd` the command had
  // a directory of its own, so the session's stays.
  virtual std::optional<State> read_capture(std::string_view capture, const State& before, bool own_cwd) const = 0;
  // Whether the shell that told this is as a fresh one with that state would be, as far as it can tell.
  virtual bool is_as_before(std::string_view capture) const = 0;
  // Its beginning, at kEnded. nullopt: an EXIT trap of the command's own is still to come, so nothing is final.
  virtual std::optional<Ending> read_ending(std::string_view capture) const = 0;
};

const Dialect& bash_dialect();
const Dialect& posix_dialect();

// The declarations without those of `names`.
std::string without_names(std::string_view variables, const std::vector<std::string>& names);
// 'it'\''s'
std::string quote(std::string_view text);
// For `cd`: quoted, but a leading ~ or ~user stays for the shell to expand.
std::string quote_path(std::string_view path);
// The parts of a capture, NUL after each, "END" behind the last: a torn one is told from a whole one.
struct CaptureParts {
  std::string_view status, cwd, exit_trap;  // the ending
  std::string_view options, more_options, umask, variables, functions, attributes, aliases;
  std::string_view rest;  // what is no state, and would still be there for another command in the same shell
};
std::optional<std::string_view> take_part(std::string_view& capture);
std::optional<CaptureParts> split_capture(std::string_view capture);
// Without one final newline, if it has one.
std::string_view without_newline(std::string_view text);
// Decimal text, 0 to 255; 0 where it is not that.
int parse_status(std::string_view text);
// Octal text to a mask; the fallback where it is not one.
int parse_umask(std::string_view text, int fallback);
// A name that a shell can export.
bool is_identifier(std::string_view name);

}  // namespace cove::session
