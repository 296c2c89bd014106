#pragma once

// Sessions: shell state, and a shell prepared with it for the next command.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "guest/process.h"
#include "session/dialect.h"

namespace cove::guest {

// A shell that loads its session's state and waits for its command, and for another one if that has left it as it was.
struct Shell {
  Process process;
  UniqueFd go, command, capture, news;  // news: the other end of the ready pipe
  Plumbing plumbing;
  std::uint64_t version = 0;      // of the session's state that it was given
  std::size_t capture_start = 0;  // what a beginning shell told before the command comes first
  bool ready = false, reads_login = false;
  bool steady = false;     // was ready before files moved
  bool displaced = false;  // its directory is one of the files before they were exchanged
  bool apart = false;      // what its command does to the state stays with the command
  int commands = 0;        // that it has run
  Loop::Timer login_limit = 0;
};

// A shell that runs and does not know yet for whom.
struct BlankShell {
  std::unique_ptr<Shell> shell;
  UniqueFd state;  // what it will read
};

class Session {
 public:
  struct Config {
    const session::Dialect* dialect = nullptr;
    std::string program;           // the shell's path
    std::vector<std::string> env;  // K=V, the sandbox's
    std::string cwd;
    std::string user;                  // "": the guest's own
    std::vector<std::string> unsaved;  // names whose values stay in memory
    bool login = true;
    bool keep_first = false;  // a shell that was prepared before the first command waits for it, however long
    Clock::duration idle_shell = std::chrono::seconds(10);
  };
  struct Request {
    std::uint32_t id = 0;
    std::string script, cwd;
    Plumbing plumbing;
    bool apart = false;  // the session stays as it is
    // Called once with the shell that runs the command; its process is the receiver's from then on.
    std::function<void(Result<std::unique_ptr<Shell>>)> started;
  };

  Session(Trees& trees, const Config& config);
  ~Session();

  const session::State& state() const { return state_; }
  void restore(session::State state);  // goes on where another guest's session was
  void begin_anew();
  // The sandbox's files are exchanged for the same ones elsewhere: prepared shells enter their directory once more.
  void files_will_move();
  void files_moved();
  // Takes a shell that was started before there was a session, if it can be told all that it must know.
  void form(BlankShell blank);
  // The machine is another one than the one that prepared shells.
  void renew();
  // Takes those out that belong to shells that wait for a command.
  void leave_out_idle(std::set<pid_t>& reapers) const;
  // Starts the command at once, or when the state is known: the login files read, what has ended settled.
  void run(Request request);
  // Takes a command back that still waits for that. False: it does not wait (any more).
  bool cancel(std::uint32_t id);
  // A command's shell is over, by itself: takes over what it captured. (After one that we ended the state stays.)
  // Whether the shell, should it live, is as its session is now.
  bool finish(const Shell& shell, int status, bool own_cwd);
  // How the shell's command ended, if it has said so and nothing of the command follows. Its state is still to come:
  // until it is finished and this is said the next commands wait.
  std::optional<session::Ending> ending(const Shell& shell);
  void settle();
  // A shell that is as its session is runs another command, if nothing of the last one is left in its process.
  bool can_take_back(const Shell& shell, const Process& process) const;
  void take_back(std::unique_ptr<Shell> shell);
  bool settled() const { return settling_ == 0; }
  // Prepares shells for the next commands; a command has just started or ended. Usually one shell, when a command has
  // ended and the state is known. Commands that come faster than shells load get up to three, begun while another
  // runs, in the hope that it leaves the state as it is.
  enum class Moment : unsigned char { command_started, command_ended };
  // A shell is on its way and may still become ready.
  bool preparing() const;
  void prepare(const Plumbing& plumbing, Moment moment);

 private:
  Result<std::unique_ptr<Shell>> start_shell(const Plumbing& plumbing);
  bool can_form_blank() const;
  bool moved_nothing(std::string_view capture, const session::State& state) const;
  void watch_ready(Shell& shell);
  void on_ready(Shell& shell);
  void login_failed();
  bool fits(const Shell& shell, const Plumbing& plumbing) const;
  std::unique_ptr<Shell> take_spare(const Plumbing& plumbing);
  void drop(std::unique_ptr<Shell> shell);
  void give(std::unique_ptr<Shell> shell, Request request);
  void drop_spares();
  void rest_later();
  void run_waiting();

  Trees& trees_;
  Loop& loop_;
  const Config& config_;
  session::State state_;
  std::uint64_t version_ = 1;
  std::vector<std::unique_ptr<Shell>> spares_;
  std::size_t wanted_ = 1;        // how many spares
  bool used_ = false;             // a command has come
  bool paced_ = false;            // ... and ended: from now on a shell that is late says how fast they come
  bool state_is_calm_ = true;     // the last command left it as it was
  std::size_t settling_ = 0;      // commands that have ended, while their shells still tell the state
  std::vector<Request> waiting_;  // for the login files or for that
  Loop::Timer idle_ = 0;
};

// With the configuration's program; waits until it runs.
Result<BlankShell> start_blank_shell(Trees& trees, const Session::Config& config);

}  // namespace cove::guest
