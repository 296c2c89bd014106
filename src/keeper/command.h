#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/byte_queue.h"
#include "base/deadline.h"
#include "keeper/output_log.h"
#include "proto/client.h"
#include "proto/guest.h"

namespace cove::keeper {

// Somebody who reads a command's log.
class Reader {
 public:
  virtual ~Reader() = default;
  virtual void wake() = 0;                            // there is news of the command
  virtual void stdin_taken(std::uint32_t bytes) = 0;  // so much of its stdin has moved on
  virtual void stdin_closed() = 0;                    // nobody reads stdin any more

  std::uint64_t cursor = 0;  // next offset to read
  bool live = false;         // past the cap the command waits for this reader instead of outrunning it
};

// A command that is not gone, as another keeper needs it to go on with it. Of its output only the length.
struct SavedCommand {
  std::string id, session, text;
  std::uint32_t number = 0;
  proto::CommandKind kind = proto::CommandKind::script;
  bool with_stdin = false, pty = false, started = false, overdue = false;
  proto::Outcome outcome;  // while it runs, how far it is
  proto::Ending cause = proto::Ending::running;
  std::string cause_detail;
  std::uint64_t timeout_ms = 0, timeout_left_ms = 0, output_bytes = 0;
  std::uint32_t credit = 0, ungranted = 0, stdin_credit = 0;
  std::string stdin_waiting;
  bool stdin_eof_waiting = false, stdin_closed = false;
  template <class Ar, class Self>
  static void fields(Ar& ar, Self& s) {
    ar(s.id, s.session, s.text, s.number, s.kind, s.with_stdin, s.pty, s.started, s.overdue, s.outcome, s.cause,
       s.cause_detail, s.timeout_ms, s.timeout_left_ms, s.output_bytes, s.credit, s.ungranted, s.stdin_credit,
       s.stdin_waiting, s.stdin_eof_waiting, s.stdin_closed);
  }
};

// One command: passive, changed by the CommandTable, read by sessions.
class Command {
 public:
  Command(std::string id, std::uint32_t number, const proto::Start& start, OutputLog log);
  Command(const SavedCommand& saved, OutputLog log);
  SavedCommand save() const;

  bool running() const { return outcome_.ending == proto::Ending::running; }
  bool is_being_ended() const { return running() && cause_ != proto::Ending::running; }
  bool has_started() const { return started_ || !running(); }
  bool gone() const { return gone_; }
  // How it ended; while it runs, how far it is.
  proto::Outcome outcome() const;

  std::uint64_t exit_bytes() const { return outcome_.output_bytes; }  // where the log stood when it exited

  // The first cause is the one that is told. False: it has ended, or another cause came first.
  bool end_because(proto::Ending cause, std::string detail);
  void set_started() { started_ = true; }
  void set_exited(proto::Exited exited);
  void set_hint(std::string hint) { outcome_.hint = std::move(hint); }
  std::string last_output() const;  // some of it, of the end
  void set_lost(const std::string& why);
  void set_gone();

  // protocol: more than the guest had credit for.
  Result<void> append_output(proto::Stream stream, std::string_view bytes);
  // What the guest may be told now that it may send; 0: nothing yet.
  std::uint32_t take_credit();

  void add_reader(Reader& reader) { readers_.push_back(&reader); }
  void remove_reader(Reader& reader) { std::erase(readers_, &reader); }
  void wake_readers() const {
    for (Reader* reader : readers_) reader->wake();
  }

  const std::string id;
  const std::uint32_t number;
  const proto::CommandKind kind;
  const std::string session;
  const std::string text;  // how it begins, for people
  const bool with_stdin, pty;
  const bool passing;  // a file operation or connection nobody named: neither listed nor kept
  OutputLog log;

  struct Stdin {
    Reader* owner = nullptr;
    std::uint32_t credit = proto::kStdinWindow;  // what the guest takes now
    ByteQueue waiting;
    bool eof_waiting = false;
    bool closed = false;  // eof was sent, or nobody reads it
  } stdin;
  Deadline timeout = Deadline::never();
  std::uint64_t timeout_ms = 0;
  bool overdue = false;                   // its end was told without the guest's word
  std::uint64_t memory_kills_before = 0;  // when it started

 private:
  std::uint64_t first_needed() const;  // by the slowest live reader

  proto::Outcome outcome_;
  Clock::time_point started_at_ = Clock::now();
  proto::Ending cause_ = proto::Ending::running;
  std::string cause_detail_;
  bool started_ = false, gone_ = false;
  std::uint32_t credit_ = proto::kOutputWindow, ungranted_ = 0;
  std::vector<Reader*> readers_;
};

}  // namespace cove::keeper
