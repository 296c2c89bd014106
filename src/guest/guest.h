#pragma once

// The program inside a sandbox: starts processes, keeps sessions, moves files, believed by the keeper about nothing but
// its bytes. One thread, one loop. When the channel closes it ends everything it started and returns,
// unless it was told to wait for the next one.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "guest/channel.h"
#include "guest/command.h"
#include "guest/init.h"
#include "guest/loop.h"
#include "guest/machine.h"
#include "guest/session.h"
#include "proto/frame.h"
#include "proto/guest.h"

namespace cove::guest {

class Guest : private Command::Host {
 public:
  // As Channel takes them.
  Guest(UniqueFd in, UniqueFd out, UniqueFd listener, Clock::duration first_visit);
  // Of a machine: the channel is a port of it, and the other port says who it is and when a stream begins.
  Guest(Ports ports, std::string command_groups);
  ~Guest() override;
  // Until the channel closes. The exit code of the program: 0, or 1 after a protocol error.
  int run();

 private:
  ByteQueue& channel() override { return channel_.out(); }
  bool channel_is_full() const override { return channel_.is_full(); }
  bool memory_ran_out() override;
  void keep_files() override;
  void command_gone(std::uint32_t id) override { gone_.insert(id); }
  void shell_used(Session& session, const Plumbing& plumbing, Session::Moment moment) override {
    to_prepare_.push_back({&session, plumbing, moment});
  }
  void shell_waits(std::uint32_t id) override { to_let_go_.push_back(id); }

  void warm_up();
  void begin_stream(const std::string& mark);
  void say_goodbye();
  void reap();
  void sweep();
  void let_go();
  Result<void> handle(const proto::Message& message);
  Result<void> on_hello(const proto::KeeperHello& hello);
  Result<void> on_start(std::uint32_t id, const proto::Start& start);
  Result<void> start_script(Command& command, std::uint32_t id, const proto::Start& start);
  Result<void> start_program(Command& command, const proto::Start& start);
  Result<void> start_file(Command& command, const proto::Start& start);
  Result<void> start_connection(Command& command, const proto::Start& start);
  void answer_hello();
  void inherit();
  void answer_states();
  void send_states(const std::string& only);
  Result<void> restore(const proto::SessionState& saved);
  Session& session(const std::string& name);
  std::vector<std::string> unsaved_environment() const;
  std::string directory_for(const proto::Start& start) const;
  void find_shell();
  void become_default_user(const std::string& user);
  proto::GuestHello greeting() const;

  Loop loop_;
  Trees trees_{loop_};
  UniqueFd children_;
  Channel channel_;
  std::optional<Machine> machine_;
  UniqueFd disk_;                    // of a machine that has one
  std::optional<BlankShell> blank_;  // until somebody says hello
  std::uint64_t memory_kills_ = 0;
  bool greeted_ = false, hello_due_ = false;
  Session::Config config_;
  std::map<std::string, std::unique_ptr<Session>> sessions_;
  std::map<std::uint32_t, std::unique_ptr<Command>> commands_;
  std::set<std::uint32_t> gone_;
  std::vector<std::string> states_asked_;  // of these sessions, "" for all; each question gets its answer
  struct ShellUse {
    Session* session;
    Plumbing plumbing;
    Session::Moment moment;
  };
  std::vector<std::uint32_t> to_let_go_;
  std::vector<ShellUse> to_prepare_;  // once everything else of this turn is done and sent
};

}  // namespace cove::guest
