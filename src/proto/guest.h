#pragma once

// Keeper and guest, over one channel. The keeper numbers commands (frame id, never 0, never used twice).
//
//   keeper                                guest
//   hello ------------------------------> checks the version, starts the default session
//         <------------------------------ hello
//   start (id) -------------------------> makes the process
//         <------------------------------ started (id)           or exited with `error` if it could not be made
//   stdin_data, stdin_eof (id) ---------> within stdin_credit
//         <------------------------------ stdin_credit (id)       0 bytes: nobody reads any more, drop the rest
//         <------------------------------ output_out, output_err (id)   raw bytes, within output_credit
//   output_credit (id) ----------------->
//   signal, resize (id) ---------------->
//         <------------------------------ exited (id)             all output that was written before is ahead of it
//         <------------------------------ output_* (id)           of background jobs that kept the descriptors
//         <------------------------------ gone (id)               no process of the command is left, no output comes
//   forget (id) ------------------------> what is left of the command is ended too, then `gone`
//
// A channel that breaks can be continued where the guest was told to wait (reconnect_ms): on the new one the keeper
// says hello with `resume` and how many bytes it has had, the guest answers with how many it has had, and each goes on
// from there. Bytes are those of whole frames in one direction, hellos not counted: each stream begins with one. Each
// side keeps what it sent until the other acknowledges it (ack), every kAckBytes or so; without acks the guest stops
// sending after kUnackedBytes.
//
// `session_state` asks for and answers with what a session would need to live on in another guest; `restore_session`
// gives it back; an empty state lets it begin anew. `files_moved`: the root is another one now, with the same files;
// who waits in a directory must enter it again. `ping` is answered by `pong`. An unknown type is a protocol error:
// both ends are of one version.

#include "proto/messages.h"

namespace cove::proto {

enum class GuestType : std::uint8_t {
  hello,
  start,
  started,
  stdin_data,
  stdin_eof,
  stdin_credit,
  output_out,
  output_err,
  output_credit,
  signal,
  resize,
  exited,
  gone,
  forget,
  session_state,
  restore_session,
  ping,
  pong,
  ack,
  files_moved,
};
constexpr GuestType last(GuestType) { return GuestType::files_moved; }

// What each side may have in flight on one stream before it hears of credit.
inline constexpr std::uint32_t kOutputWindow = 1U << 20;
inline constexpr std::uint32_t kStdinWindow = 256U << 10;
inline constexpr std::size_t kUnackedBytes = std::size_t{8} << 20;
inline constexpr std::size_t kAckBytes = std::size_t{128} << 10;
// The frame id of hellos: a stream can have been cut in the middle of a message with id 0.
inline constexpr std::uint32_t kHelloId = 0xffff'ffff;

struct KeeperHello {
  std::uint32_t version = kVersion;
  std::vector<std::string> env;          // the sandbox's whole environment
  std::vector<std::string> unsaved;      // names in it whose values must not leave by session_state
  std::string cwd;                       // where sessions start
  std::uint32_t reconnect_ms = 0;        // how long to live on without a channel
  std::uint32_t idle_shell_ms = 10'000;  // a prepared shell that nobody uses is let go after this
  std::string cgroup;          // a delegated cgroup v2 directory for the commands' own groups; "" if there is none
  bool resume = false;         // this channel continues one that broke
  std::uint64_t received = 0;  // ... of which the keeper has had so many bytes
  bool login = true;           // sessions read the login start-up files
  std::string user;            // whom sessions and programs run as, by name or number; "" is the guest's own
  bool prepared = false;       // answer when the first shell is ready, and keep that one until it is used
  bool split = false;          // the first command will be one of split streams
  // What `env` and `cwd` leave out is taken from the guest's own: an engine gave it what the image says.
  bool inherits = false;
  template <class Ar, class Self>
  static void fields(Ar& ar, Self& s) {
    ar(s.version, s.env, s.unsaved, s.cwd, s.reconnect_ms, s.idle_shell_ms, s.cgroup, s.resume, s.received, s.login,
       s.user, s.prepared, s.split, s.inherits);
  }
};

struct GuestHello {
  std::uint32_t version = kVersion;
  std::uint32_t pid = 0;
  std::uint64_t received = 0;  // in the answer to `resume`: what the guest has had
  std::string shell;           // "bash", "sh" or "" when there is none
  template <class Ar, class Self>
  static void fields(Ar& ar, Self& s) {
    ar(s.version, s.pid, s.received, s.shell);
  }
};

struct Started {
  std::uint32_t pid = 0;  // as seen inside
  template <class Ar, class Self>
  static void fields(Ar& ar, Self& s) {
    ar(s.pid);
  }
};

struct Exited {
  std::int32_t exit_code = 0;  // as a shell tells it: 128 + signal after a signal
  std::int32_t signal = 0;
  std::string cwd;              // the session's directory afterwards; "" if the command has no session
  Errc error = Errc::internal;  // with error_text: it could not be started, or a file operation failed
  std::string error_text;       // "" if it was started
  bool oom = false;
  template <class Ar, class Self>
  static void fields(Ar& ar, Self& s) {
    ar(s.exit_code, s.signal, s.cwd, s.error, s.error_text, s.oom);
  }
};

struct Ack {
  std::uint64_t received = 0;
  template <class Ar, class Self>
  static void fields(Ar& ar, Self& s) {
    ar(s.received);
  }
};

struct SessionState {
  std::string session, state;
  template <class Ar, class Self>
  static void fields(Ar& ar, Self& s) {
    ar(s.session, s.state);
  }
};

}  // namespace cove::proto
