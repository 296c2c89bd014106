#pragma once

// Client and keeper, over the sandbox's unix socket. A connection carries one request at a time; a client that wants
// two at once opens two connections. Frame ids are 0.
//
//   client                                keeper
//   hello ------------------------------> checks the version
//         <------------------------------ hello
//
//   run --------------------------------> starts the command, or finds the one with this id: never runs it twice
//         <------------------------------ started                 or error
//   (background: the request ends here)
//   stdin_data, stdin_eof, signal, resize, interrupt --> while it runs; stdin within stdin_credit
//         <------------------------------ stdin_credit
//         <------------------------------ output                  the log from `from` on
//         <------------------------------ outcome                 the request ends here; all output is ahead of it
//
//   attach -----------------------------> the same for a command that exists; without follow only what is there now
//   status -----------------------------> <-- json                one command
//   list -------------------------------> <-- json                all commands
//   inspect ----------------------------> <-- json                the sandbox
//   signal_command ---------------------> <-- done                to a command by id
//   feed -------------------------------> <-- done                to the stdin of a command by id
//   layers -----------------------------> <-- json                files and sessions saved, taken back, listed
//   stop -------------------------------> <-- done                when nothing of the sandbox runs any more
//
// Every request may be answered by `error` instead. A client that goes away takes nothing with it: its command runs on
// (unless it was started with end_with_client), its output stays in the log.

#include "proto/messages.h"

namespace cove::proto {

enum class ClientType : std::uint8_t {
  hello,
  run,
  attach,
  status,
  list,
  inspect,
  signal_command,
  feed,
  layers,
  stop,
  stdin_data,
  stdin_eof,
  signal,
  resize,
  interrupt,
  started,
  stdin_credit,
  output,
  outcome,
  json,
  done,
  error,
};
constexpr ClientType last(ClientType) { return ClientType::error; }

struct Hello {
  std::uint32_t version = kVersion;
  template <class Ar, class Self>
  static void fields(Ar& ar, Self& s) {
    ar(s.version);
  }
};

struct Run {
  std::string id;  // the caller's; "" lets the keeper choose
  Start start;
  std::uint64_t timeout_ms = 0;  // 0: none
  bool background = false;       // answer `started` and leave it running
  bool end_with_client = false;  // a client that disconnects interrupts the command
  bool live = true;              // past the log's cap a live reader slows the command down instead of missing bytes
  template <class Ar, class Self>
  static void fields(Ar& ar, Self& s) {
    ar(s.id, s.start, s.timeout_ms, s.background, s.end_with_client, s.live);
  }
};

struct Attach {
  std::string id;          // "" is the last command
  std::uint64_t from = 0;  // offset in its log
  bool follow = true;      // until its outcome; otherwise what is there now, then the outcome so far
  bool live = false;       // as in Run
  template <class Ar, class Self>
  static void fields(Ar& ar, Self& s) {
    ar(s.id, s.from, s.follow, s.live);
  }
};

struct CommandRef {
  std::string id;
  template <class Ar, class Self>
  static void fields(Ar& ar, Self& s) {
    ar(s.id);
  }
};

struct SignalCommand {
  std::string id;
  Signal signal;
  template <class Ar, class Self>
  static void fields(Ar& ar, Self& s) {
    ar(s.id, s.signal);
  }
};

// More stdin for a command that was started with it and that no connection feeds. What the command has not read yet is
// kept, up to a window; more is `busy`.
struct Feed {
  std::string id;
  std::string bytes;
  bool eof = false;  // ... and no more
  template <class Ar, class Self>
  static void fields(Ar& ar, Self& s) {
    ar(s.id, s.bytes, s.eof);
  }
};

struct CommandStarted {
  std::string id;
  bool existed = false;  // this id had been started before; what follows is about that run
  template <class Ar, class Self>
  static void fields(Ar& ar, Self& s) {
    ar(s.id, s.existed);
  }
};

// Followed by the bytes themselves, up to the end of the payload; see append_output and split_output.
struct OutputHeader {
  std::uint64_t offset = 0;  // of the first byte in the log; a jump means that bytes past the cap were not kept
  Stream stream = Stream::out;
  template <class Ar, class Self>
  static void fields(Ar& ar, Self& s) {
    ar(s.offset, s.stream);
  }
};
inline constexpr std::size_t kOutputHeaderBytes = 9;

// How a command ended, or `running`.
enum class Ending : std::uint8_t { running, exited, signaled, timeout, interrupted, oom, lost };
constexpr Ending last(Ending) { return Ending::lost; }

struct Outcome {
  std::string id;
  Ending ending = Ending::running;
  std::int32_t exit_code = 0;  // 124 timeout, 130 interrupted, 128 + signal, 125 lost; meaningless while running
  std::int32_t signal = 0;
  std::string cwd;
  std::uint64_t duration_us = 0, output_bytes = 0;  // output_bytes: all that was written, also what was not kept
  bool truncated = false;                           // the log hit its cap
  std::string detail;                               // why it was lost, which limit was hit, ...
  std::string hint;                                 // a likely reason for its failure, and the way out
  Errc error = Errc::internal;  // with error_text: our machinery could not start it, or a file operation failed
  std::string error_text;
  std::uint32_t pid = 0;  // of its shell or program, as seen inside; 0: none, or not known any more
  std::string text;       // how it begins, for people; only in lists and answers about one command
  template <class Ar, class Self>
  static void fields(Ar& ar, Self& s) {
    ar(s.id, s.ending, s.exit_code, s.signal, s.cwd, s.duration_us, s.output_bytes, s.truncated, s.detail, s.hint,
       s.error, s.error_text, s.pid, s.text);
  }
};

struct Text {
  std::string text;
  template <class Ar, class Self>
  static void fields(Ar& ar, Self& s) {
    ar(s.text);
  }
};

struct ErrorReply {
  Errc code = Errc::internal;
  std::string message;
  template <class Ar, class Self>
  static void fields(Ar& ar, Self& s) {
    ar(s.code, s.message);
  }
};

// What is done with the sandbox's files, and with its sessions, which go with them.
enum class LayerVerb : std::uint8_t {
  snapshot,    // saved as `tag`
  restore,     // as they were in `tag`
  undo,        // as they were before the last `count` commands
  history,     // what undo knows
  checkpoint,  // from now on each command that changes files gets a layer of its own; `count` 0: no longer
  pause,       // nothing of it runs until `resume`
  resume,
  snapshot_memory,  // saved as `tag`, with all that runs
  sync,             // volumes that are copies go back to the host
};
constexpr LayerVerb last(LayerVerb) { return LayerVerb::sync; }

struct LayerRequest {
  LayerVerb verb = LayerVerb::history;
  std::string tag;
  std::uint32_t count = 0;
  template <class Ar, class Self>
  static void fields(Ar& ar, Self& s) {
    ar(s.verb, s.tag, s.count);
  }
};

struct StopRequest {
  bool remove = false;  // also what a persistent sandbox would keep
  std::uint32_t grace_ms = 2000;
  template <class Ar, class Self>
  static void fields(Ar& ar, Self& s) {
    ar(s.remove, s.grace_ms);
  }
};

}  // namespace cove::proto
