#pragma once

// What is on disk about a sandbox: one private directory, $COVE_HOME/sandboxes/NAME.
//
//   lock         held (flock) by the keeper as long as it lives: "is it alive" is a lock, not a guess
//   spec.json    what was asked for; environment values only for persistent sandboxes, forwarded ones never
//   status.json  how it ended, once it has; written aside and renamed
//   layers.N     ids of layers that were sealed since spec.json was written for the Nth time, a line each
//   sock         the keeper's socket
//   journal      one JSON line when a command starts and one when it ends (command text is not in it)
//   logs/N       output of command number N that did not fit in memory
//   history      persistent sandboxes with checkpoints: what can be undone; it has commands' beginnings (history.h)
//   proof.json   what --prove has found
//   disk         persistent native sandboxes with --disk: the file system that holds their changes
//   sessions/    persistent sandboxes: what each session needs to live on
//   container    the backend keeps something outside this directory, which Backend::forget() removes
//
// A record whose lock is free is dead. Dead records of owned sandboxes are cleared by the next one who looks.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/error.h"
#include "base/unique_fd.h"
#include "proto/client.h"
#include "spec/spec.h"

namespace cove::record {

inline constexpr const char* kKeptOutside = "container";

// COVE_HOME, else $XDG_STATE_HOME/cove, else ~/.local/state/cove. Made (0700) if missing; refused if others may write.
Result<std::string> home();
// This process never makes it again: a keeper may outlive whoever removes the whole of it.
void leave_home_as_it_is();

// [a-z0-9][a-z0-9_.-]*, at most 63 bytes.
Result<void> check_name(const std::string& name);
// One for any text: the text itself where it is a name, otherwise what can be kept of it and a hash.
std::string name_for(const std::string& text);
// "calm-otter-3f": free at the moment of asking.
std::string make_name();

enum class Life : unsigned char { running, stopped, failed };  // stopped: persistent, can be started; failed: see why

struct Info {
  std::string name;
  Life life = Life::failed;
  SandboxSpec spec;  // without environment values
  std::string why;   // how it ended
  std::int64_t created_unix = 0;
  int keeper_pid = 0;  // when running
  bool paused = false;
};

// What people and programs read: running, paused, stopped or failed.
std::string_view state_of(const Info& info);

// The directory of a record that has no name yet, locked; it goes with this object.
class Unnamed {
 public:
  static Result<Unnamed> make(UniqueFd sandboxes);  // of open_sandboxes()
  Unnamed(Unnamed&&) noexcept = default;
  Unnamed& operator=(Unnamed&&) = delete;
  ~Unnamed();

  const std::string& name() const { return aside_; }  // until then

 private:
  friend class Record;
  Unnamed() = default;
  UniqueFd sandboxes_;  // none: it has a name now
  std::string aside_;
  UniqueFd directory_, lock_;
};

// A sandbox's directory, opened; all paths go through its descriptor, so their length does not matter.
class Record {
 public:
  // A new one, locked: for the keeper. conflict: the name is taken (by a living, a persistent or a failed sandbox).
  static Result<Record> create(const SandboxSpec& spec);
  static Result<Record> create(const SandboxSpec& spec, Unnamed unnamed);
  // An existing one, locked: for a keeper that starts it again.
  static Result<Record> lock(const std::string& name);
  // An existing one, to look at. not_found: none of that name (the message lists near names).
  static Result<Record> open(const std::string& name);

  Record() = default;  // none; to be assigned

  const std::string& name() const { return name_; }
  int directory() const { return directory_.get(); }
  Result<Info> info() const;
  Result<SandboxSpec> spec() const;  // with environment values where they are kept
  Result<UniqueFd> connect() const;  // to the keeper's socket; disconnected: nobody listens
  Result<UniqueFd> listen() const;   // for the keeper; 0600
  Result<void> write_status(Life life, const std::string& why) const;
  Result<void> write_spec(const SandboxSpec& spec) const;  // what it has become
  Result<void> add_layer(const std::string& id) const;     // one more sealed layer, without writing all again

  // Journal. Appended with one write each, so a kill -9 loses nothing that was written.
  Result<void> note_started(const std::string& id) const;
  Result<void> note_ended(const proto::Outcome& outcome) const;
  // Every command ever started, in order; those without an end are `lost` if the sandbox is dead.
  Result<std::vector<proto::Outcome>> journal() const;

  Result<void> save_session(const std::string& session, const std::string& state) const;
  Result<std::vector<std::pair<std::string, std::string>>> sessions() const;

  // What --prove has found, as JSON.
  Result<void> save_proof(const std::string& json) const;
  Result<std::string> proof() const;  // not_found: nobody has asked for one

  void note_paused(bool paused) const;

  // Of a keeper that has settled how it ended: from here on others see that, and may start the sandbox again.
  void release();

  // Of whoever has seen a keeper close its connections: waits a moment for its lock, which the kernel may let go of
  // last. False: somebody holds it still.
  bool await_release(Deadline deadline) const;

  // Removes the directory and everything in it. Only for the one who holds the lock, or of a dead record.
  Result<void> remove();

  // The control groups of a keeper that did not live to remove them. One that lives keeps its own.
  Result<void> remove_groups() const;

 private:
  Result<void> append_to_journal(const std::string& line) const;

  std::string name_;
  UniqueFd directory_, lock_;
  mutable UniqueFd journal_;     // opened by the first note
  mutable UniqueFd layer_list_;  // opened by the first added layer
};

// All records, dead owned ones cleared on the way; those that are kept give back what their keepers left outside.
Result<std::vector<Info>> list();
// The names of what list() would clear.
Result<std::vector<std::string>> dead();
Result<void> clear_dead(const std::string& name);
// Clears what is dead, unless somebody has done so in the last seconds: a thousand keepers need not all look.
void sweep();

}  // namespace cove::record
