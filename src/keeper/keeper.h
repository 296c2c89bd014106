#pragma once

// One sandbox's life: a single-threaded loop over the guest's channel, the clients' connections, the owner's lifetime
// pipe and the clock. Everything else here is passive and driven by it.
//
//   serving --stop, owner gone, SIGTERM, idle, max duration--> ending commands --> saving sessions --> over
//      \--- guest gone -----------------------------------------------------------------------------> over
//
// `over` means: nothing of the sandbox runs, its record says how it ended or is gone, and every client knows.

#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "backend/backend.h"
#include "keeper/client_session.h"
#include "keeper/command_table.h"
#include "keeper/guest_link.h"
#include "record/history.h"
#include "record/record.h"
#include "record/snapshots.h"

namespace cove::keeper {

struct KeeperParts {
  record::Record record;
  SandboxSpec spec;
  std::unique_ptr<Place> place;
  Channel channel;
  UniqueFd listener;
  UniqueFd signals;  // a signalfd; anything on it asks for an orderly end
};

class Keeper final : public SessionHost {
 public:
  explicit Keeper(KeeperParts parts);

  // Says hello to the guest and gives it the sessions of a persistent sandbox back. Before run().
  Result<void> greet(Deadline deadline);
  // Of an owned sandbox: end of file means that its owner is gone. Before run().
  void live_with(UniqueFd owner);
  // The socket on which somebody has been told that the sandbox is ready: until he has heard of it, it ends with him.
  enum class Begun : unsigned char { anew, again };
  void await_claim(UniqueFd asker, Begun begun);
  // Returns when the sandbox is over.
  Result<void> run();
  // For a keeper that cannot go on: ends the sandbox at once and leaves `why` in its record.
  void abandon(const std::string& why);
  // After a failed greet: ends the place and hands the record back.
  void give_back(record::Record& record);

  // What whoever asked for the sandbox should know.
  std::vector<std::string> notes() const { return place_->notes(); }

  CommandTable& commands() override { return commands_; }
  Result<void> accepting() const override;
  std::string inspect() override;
  // Not for as long as another command runs, which may be days.
  bool holding() const override { return !ended_.empty() && commands_.running() == 0 && phase_ == Phase::serving; }
  void layers(ClientSession& asking, const proto::LayerRequest& request) override;
  void stop(ClientSession& asking, const proto::StopRequest& request) override;
  void wants_pump(ClientSession& session) override;
  void wants_pump_soon(ClientSession& session) override;

 private:
  enum class Phase : unsigned char { serving, ending, saving, over };
  // What becomes of the record.
  struct Fate {
    std::string why;
    bool orderly = false;  // asked for: a sandbox that is not persistent leaves no record
    bool remove = false;
  };

  Result<void> watch(int fd, std::uint64_t token, std::uint32_t events);
  Result<void> watch_guest();
  Result<void> say_hello(Deadline deadline);
  Result<void> meet_new_guest(Deadline deadline);
  Result<void> watch_gone();
  void dispatch(std::uint64_t token, std::uint32_t events);
  void accept_clients();
  void hear_claim();
  void serve(std::uint64_t token, std::uint32_t events);
  void drop(std::uint64_t token);
  void pump_all();
  void pump(ClientSession& session);

  void read_guest();
  Result<void> take(const proto::Message& message);
  Result<void> take_session(std::string_view payload);
  void save_session(const std::string& session, const std::string& state);
  void flush_guest();
  void guest_gone();
  void lose_guest(const std::string& why);

  // reconnect.cc: a channel that broke while the place lives
  bool place_is_gone(std::chrono::milliseconds wait) const;
  bool can_reconnect() const;
  void lose_channel();
  void try_later(std::string why);
  void reconnect();
  Deadline next_reconnect() const;
  void connect_anew();

  // pausing.cc
  Result<void> leave();
  Result<void> come_back();
  Result<void> pause();
  Result<void> resume();

  // memory.cc: what runs saved, and gone on with
  Result<void> save_memory(record::Snapshot& saved);
  Result<void> go_on_with(const record::Snapshot& saved, Deadline deadline);
  Result<void> change_place(const record::Snapshot& saved);
  Result<std::unique_ptr<Place>> place_from(const record::Snapshot& saved, const SandboxSpec& spec);

  Deadline next_deadline() const;
  void tick();
  void note_idleness();
  bool is_idle() const;

  // layering.cc: files and sessions saved and taken back
  struct LayerWork {
    std::uint64_t client = 0;  // 0: ours, after commands that may have changed files
    proto::LayerRequest request;
  };
  struct Ended {
    record::Done done;
    bool passing = false;  // a file operation
  };
  bool begin_checkpoint();  // when commands have ended and none runs
  void ask_sessions();
  void do_layer_work();
  Result<std::string> do_request(const proto::LayerRequest& request);
  Result<std::string> snapshot(const proto::LayerRequest& request);
  Result<std::string> restore(const std::string& tag);
  Result<std::string> undo(std::uint32_t count);
  std::string history() const;
  void checkpoint();
  void recall_history();
  Result<bool> seal();
  Result<void> go_back(std::vector<std::string> layers, const record::Sessions& sessions);
  void give_sessions(const record::Sessions& sessions);

  void begin_end(Fate fate, std::uint32_t grace_ms);
  void advance();
  void save_sessions();
  void finish();
  void forget_outside();
  Result<void> settle_record();
  void flush_clients(Deadline deadline);

  record::Record record_;
  SandboxSpec spec_;
  std::unique_ptr<Place> place_;
  GuestLink guest_;
  UniqueFd listener_, lifetime_, signals_, asker_, epoll_;
  Begun begun_ = Begun::anew;
  CommandTable commands_;
  proto::GuestHello hello_;

  std::unordered_map<std::uint64_t, std::unique_ptr<ClientSession>> sessions_;
  std::uint64_t next_token_;
  std::vector<ClientSession*> to_pump_, stop_waiters_;
  std::deque<std::pair<Clock::time_point, std::uint64_t>> to_pump_soon_;
  bool guest_watched_for_room_ = false;

  Deadline reconnect_until_ = Deadline::never();  // never: the channel is in order
  Deadline reconnect_at_ = Deadline::never();
  std::chrono::milliseconds reconnect_pause_{};
  std::string why_not_connected_;
  bool paused_ = false;

  Phase phase_ = Phase::serving;
  Fate fate_;
  Deadline phase_deadline_ = Deadline::never();
  Deadline max_duration_ = Deadline::never(), accept_again_ = Deadline::never(), trim_at_ = Deadline::never();
  std::optional<Clock::time_point> idle_since_;

  bool swept_ = false;  // has looked for what crashed keepers left
  bool sessions_changed_ = false;
  int session_answers_due_ = 0;
  Clock::time_point sessions_asked_{};
  std::map<std::string, std::size_t> saved_sessions_;  // hashes

  std::deque<LayerWork> layer_work_;  // waits for the sessions' states
  record::Sessions heard_, before_;   // states: coming in; when the last command had ended
  std::vector<Ended> ended_;          // commands whose changes are not sealed yet
  record::History history_;           // what can be undone
  bool asked_for_checkpoint_ = false;
};

}  // namespace cove::keeper
