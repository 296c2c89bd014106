#pragma once

// Every command of the sandbox: started once, told to the guest, kept for a while after its end.
//
// Kept: the outcomes of the newest kMaxFinished commands that have ended, and their logs as long as all of them
// together stay below kMaxMemory and kMaxDisk; the oldest log goes first. That an id was used is remembered as long as
// the sandbox lives, also over a restart: the journal has every one.

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "keeper/command.h"
#include "keeper/guest_link.h"
#include "record/record.h"

namespace cove::keeper {

// All that a guest may still speak of, for a keeper that goes on with it.
struct SavedCommands {
  std::vector<SavedCommand> commands;
  std::vector<std::string> sessions;
  std::uint32_t next_number = 1;
  std::uint64_t next_id = 1;
  template <class Ar, class Self>
  static void fields(Ar& ar, Self& s) {
    ar(s.commands, s.sessions, s.next_number, s.next_id);
  }
};

class CommandTable {
 public:
  static constexpr std::size_t kMaxFinished = 1000;
  static constexpr std::size_t kMaxMemory = std::size_t{64} << 20;
  static constexpr std::uint64_t kMaxDisk = std::uint64_t{1} << 30;

  CommandTable(GuestLink& guest, const record::Record& record, const SandboxSpec& spec);
  // What the journal knows from before.
  Result<void> remember();

  SavedCommands save() const;
  // Into an empty table, or one that has lost all: the guest runs these. Those whose callers are not here are ended.
  Result<void> go_on_with(const SavedCommands& saved);

  struct Started {
    std::shared_ptr<Command> command;  // empty: it existed, but only its outcome is known
    proto::Outcome outcome;            // if there is no command
    bool existed = false;
  };
  Result<Started> run(const proto::Run& request);
  // "" is the last one. not_found: there never was one of this id.
  Result<Started> find(const std::string& id);
  std::vector<proto::Outcome> list() const;

  // Ends the whole tree; the outcome tells the first cause. A guest that does not report the end in time (it lies, or a
  // process hangs in the kernel) does not keep the outcome from those who wait for it.
  void end(Command& command, proto::Ending cause, std::string detail, std::uint32_t grace_ms = 2000);
  Result<void> signal(Command& command, const proto::Signal& signal);
  void resize(Command& command, const proto::Resize& size);
  void stdin_data(Command& command, Reader& from, std::string_view bytes);
  void stdin_eof(Command& command, Reader& from);
  // A reader has moved on: the guest may be owed credit.
  void grant(Command& command);

  // A frame from the guest about a command. protocol: it makes no sense.
  Result<void> take(const proto::Message& message);
  void lose_all(const std::string& why);

  Deadline next_deadline() const;
  void tick();  // ends what has run out of time

  std::size_t running() const { return running_; }              // not exited
  std::size_t unfinished() const { return by_number_.size(); }  // something of them may still run
  template <class Visit>
  void each_running(Visit visit) {
    for (auto& [number, command] : by_number_) {
      if (command->running()) visit(*command);
    }
  }
  const std::set<std::string>& sessions() const { return sessions_; }

  std::function<void(Command&)> exited = [](Command&) {};  // called for each, before its readers wake
  std::function<std::uint64_t()> memory_kills = [] { return std::uint64_t{0}; };  // by the sandbox's limit, so far

 private:
  using CommandPtr = std::shared_ptr<Command>;

  bool is_own(const std::string& id) const;
  Result<std::string> choose_id(const proto::Run& request);
  OutputLog make_log(proto::CommandKind kind, std::uint32_t number) const;
  void adopt(const SavedCommand& saved);
  Result<Command*> named_by(const proto::Message& message);
  Result<void> take_exited(Command& command, std::string_view payload);
  void set_exited(Command& command, proto::Exited exited);
  void declare_overdue();
  void take_gone(Command& command);
  void finish(CommandPtr command);
  void make_room();
  void move_stdin(Command& command);
  std::optional<proto::Outcome> find_in_journal(const std::string& id) const;

  GuestLink& guest_;
  const record::Record& record_;
  const SandboxSpec& spec_;
  std::unordered_map<std::uint32_t, CommandPtr> by_number_;  // not gone
  std::unordered_map<std::string, CommandPtr> by_id_;
  std::deque<CommandPtr> finished_;              // oldest first
  std::unordered_set<std::uint64_t> forgotten_;  // hashes of ids that only the journal knows
  std::set<std::pair<Clock::time_point, std::uint32_t>> timeouts_;
  std::set<std::pair<Clock::time_point, std::uint32_t>> overdue_;  // when the end of what we end should long be known
  std::set<std::string> sessions_;
  std::string last_id_;
  std::uint32_t next_number_ = 1;
  std::uint64_t next_id_ = 1;
  std::size_t running_ = 0, finished_memory_ = 0;
  std::uint64_t finished_disk_ = 0;
};

// Letters, digits and ._:@/+=- , at most 128: an id stands in JSON, logs and command lines.
Result<void> check_id(const std::string& id);

}  // namespace cove::keeper
