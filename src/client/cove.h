#pragma once

// libcove: sandboxes and their commands, as a C++ API over the sandboxes' sockets.
//
// Calls block, take a deadline and a stop token, and may be made from any number of threads on one Sandbox: each call
// in flight has a connection of its own. A call that is stopped interrupts its command; a call whose deadline passes
// fails with `timeout` and leaves the command running.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/error.h"
#include "base/unique_fd.h"
#include "proto/client.h"
#include "spec/spec.h"

namespace cove {

using proto::Ending;
using proto::FileInfo;
using proto::Outcome;
using proto::Stream;

// What to run. Either `script` (in a session's shell) or `argv` (a program, no session).
struct CommandSpec {
  std::string script;
  std::vector<std::string> argv;
  std::string id;                        // the caller's; the same id never runs twice
  std::string session;                   // "" is the default one
  std::string cwd;                       // this call only
  std::string user;                      // argv only
  std::vector<std::string> env;          // argv only: K=V for this call
  std::chrono::milliseconds timeout{0};  // 0: the sandbox's default
  bool split = false;  // tell stdout and stderr apart; their order is then that of arrival (see proto::Stream)
  bool pty = false;
  std::uint16_t rows = 24, columns = 80;
  bool apart = false;            // script: the session stays as it is, however long this runs
  bool end_with_client = false;  // if this process dies, the command is interrupted
  bool open_stdin = false;       // start() only: stdin stays open for feed()
};

// From another thread, while a call runs.
class Control {
 public:
  Control();
  void interrupt();         // as Ctrl-C by a caller: outcome `interrupted`
  void signal(int number);  // to the command's process group
  void resize(std::uint16_t rows, std::uint16_t columns);

 private:
  friend class Sandbox;
  struct State;
  std::shared_ptr<State> state_;
};

// Where bytes come from and go to. All callbacks are called in the calling thread.
struct CommandIo {
  std::function<void(Stream, std::string_view)> output;  // empty: output is only logged
  std::string_view stdin_bytes;                          // sent, then end of file
  int stdin_fd = -1;                                     // read as it comes, then end of file; lent
  Control* control = nullptr;
  bool leave_on_stop = false;                          // a stopped call leaves the command running: `cancelled`
  std::function<void(const std::string& id)> started;  // empty: nobody wants to know
  // While the command runs, at most once per `activity_every`: for callers whose own callers lose patience. What it
  // throws is dropped; the command goes on.
  std::function<void()> activity;
  std::chrono::milliseconds activity_every{10'000};
  // Asked before anything is sent; no is `denied`. May take as long as a person takes. A stop while it waits was meant
  // for the question: a command that is approved all the same runs, and that token no longer ends it.
  std::function<bool()> approve;
};

// A finished (or lost) command with all of its output.
struct Completed {
  Outcome outcome;
  std::string output;
};

// What a snapshot or fork takes along: files and sessions, or also all that runs, which then goes on in every copy.
enum class Saved : unsigned char { files, memory };

struct Call {
  Deadline deadline = Deadline::never();
  std::stop_token stop;
};

class Sandbox {
 public:
  // Starts a keeper. A spec with `owned` ends with this object or this process, whichever goes first. Without a name it
  // gets one; an empty environment means the usual one of its backend (policy/env.h).
  static Result<Sandbox> create(const SandboxSpec& spec, const Call& call = {});
  // Starts a persistent sandbox that was stopped. Forwarded variables get the values they have here and now.
  static Result<Sandbox> restart(const std::string& name, const Call& call = {});
  // Ends a sandbox, if it runs, and forgets everything about it. not_found: there is none of that name.
  static Result<void> remove(const std::string& name, const Call& call = {});
  // A sandbox that exists and runs.
  static Result<Sandbox> open(const std::string& name);

  Sandbox(Sandbox&&) noexcept;
  Sandbox& operator=(Sandbox&&) noexcept;
  ~Sandbox();  // of an owned sandbox: destroys it

  const std::string& name() const { return name_; }
  // What create() or restart() has to tell besides: that a container had to be made anew. "" mostly.
  const std::string& notes() const { return notes_; }

  Result<Outcome> run(const CommandSpec& command, const CommandIo& io, const Call& call = {});
  Result<Completed> sh(std::string script, const Call& call = {});  // default session, output collected
  Result<Completed> collect(const CommandSpec& command, const CommandIo& io = {}, const Call& call = {});
  Result<std::string> start(const CommandSpec& command, const Call& call = {});  // in the background; its id
  // The log from `from`; with follow until the outcome.
  Result<Outcome> attach(const proto::Attach& what, const CommandIo& io, const Call& call = {});
  Result<Outcome> status(const std::string& id, const Call& call = {});  // not_found: it was never started
  Result<std::vector<Outcome>> commands(const Call& call = {});
  Result<void> signal(const std::string& id, proto::Signal signal, const Call& call = {});
  // More stdin for a command that was started with `open_stdin`, by whomever. With `last` it is closed (a terminal gets
  // its end-of-file character). busy: the command does not read.
  enum class Stdin : unsigned char { more, last };
  Result<void> feed(const std::string& id, std::string_view bytes, Stdin which, const Call& call = {});
  Result<std::string> inspect(const Call& call = {});  // JSON
  bool hung_up() const;                                // the keeper has gone, as far as can be seen without asking
  // Forgets an owned sandbox without ending it: for the child of a fork(), whose parent owns it still.
  void disown() noexcept;

  // Files and sessions. A snapshot is saved under a tag, for `SandboxSpec::from` and restore(); undo needs checkpoints
  // (SandboxSpec::checkpoint). Backends that cannot say `unsupported`.
  Result<std::string> snapshot(const std::string& tag, const Call& call = {}, Saved what = Saved::files);  // JSON
  Result<void> restore(const std::string& tag, const Call& call = {});
  Result<void> checkpoint(bool on, const Call& call = {});
  // Nothing inside runs, and nothing can be run, until resume(). unsupported: not by this backend, or not here.
  Result<void> pause(const Call& call = {});
  Result<void> resume(const Call& call = {});
  // Where volumes are copies (microvm): what was changed in them goes to the host now, not only at the end. A sentence
  // for each file that did not, because the host's has changed, too, or it is of a kind that is never brought.
  Result<std::vector<std::string>> sync(const Call& call = {});
  Result<void> undo(std::uint32_t count = 1, const Call& call = {});  // back to before the last `count` commands
  Result<std::string> history(const Call& call = {});                 // JSON
  // Copies that go their own ways from here: files by shared layers, sessions with their state. They are owned if this
  // object owns the sandbox; otherwise they stay until somebody removes them.
  Result<std::vector<Sandbox>> fork(std::size_t count = 1, const Call& call = {}, Saved what = Saved::files);

  Result<std::string> read_file(const std::string& path, const Call& call = {});
  Result<void> write_file(const std::string& path, std::string_view bytes, std::uint32_t mode = 0644,
                          const Call& call = {});
  Result<std::vector<FileInfo>> list_files(const std::string& path, const Call& call = {});
  Result<FileInfo> stat_file(const std::string& path, const Call& call = {});
  Result<void> make_directory(const std::string& path, const Call& call = {});
  Result<void> move_file(const std::string& from, const std::string& to, const Call& call = {});
  Result<void> remove_file(const std::string& path, const Call& call = {});
  // Files and directories, modes and times kept. `to` names the copy itself, as in `cp -T`. What a copy does not carry
  // (sockets, pipes, devices) is skipped and comes back, a sentence each.
  Result<std::vector<std::string>> copy_in(const std::string& host, const std::string& inside, const Call& call = {});
  Result<std::vector<std::string>> copy_out(const std::string& inside, const std::string& host, const Call& call = {});
  // Joins `fd` (a connected socket) with a TCP or unix socket inside until both directions are closed.
  Result<void> forward(int fd, const std::vector<std::string>& target, const Call& call = {});

  // Ends it; returns when nothing of it runs. `remove` also forgets what a persistent sandbox keeps.
  Result<void> stop(proto::StopRequest request = {}, const Call& call = {});

 private:
  friend class SandboxPool;
  class Connection;
  class Conversation;
  struct TarReply;
  struct Pool;
  explicit Sandbox(std::unique_ptr<Pool> pool);
  static Result<Sandbox> launch(const SandboxSpec& spec, bool restart, const Call& call);
  Result<std::unique_ptr<Connection>> borrow();
  void give_back(std::unique_ptr<Connection> connection);
  // Borrows a connection and writes the request; tries another one only if this one provably did not take it.
  Result<std::unique_ptr<Connection>> request(proto::ClientType type, std::string_view payload);
  // A request that is answered by one message; its payload.
  Result<std::string> ask(proto::ClientType type, std::string_view payload, proto::ClientType answer, const Call& call);
  Result<std::string> layers(const proto::LayerRequest& request, const Call& call);
  Result<Outcome> converse(Conversation& conversation, const CommandIo& io);
  // A file operation whose input and output fit in memory; an outcome that is not a success becomes an error.
  Result<void> file(const proto::FileRequest& request, std::string_view in, std::string* out, const Call& call);
  Error explain(Error error, const std::string& id) const;

  std::string name_, notes_;
  UniqueFd lifetime_;  // the keeper of an owned sandbox ends when this closes
  std::unique_ptr<Pool> pool_;
};

}  // namespace cove
