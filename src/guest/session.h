#pragma once

// Sessions: shell state, and a shell prepared with it for the next command.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "guest/process.h"
#include "session/dialect.h"

namespace cove::guest {

// A shell that loads its session's state and waits for its command.
struct Shell {
  Process process;
  UniqueFd go, command, capture, news;  // news: the other end of the ready pipe
  Plumbing plumbing;
  std::uint64_t version = 0;                  // of the session's state that it was given
  std::optional<session::Captured> captured;  // what it has told, once that was looked at
  std::size_t capture_start = 0;              // what a beginning shell told before the command comes first
  bool ready = false, reads_login = false;
  Loop::Timer login_limit = 0;
};

class Session {
 public:
  struct Config {
    const session::Dialect* dialect = nullptr;
    std::string program;           // the shell's path
    std::vector<std::string> env;  // K=V, the sandbox's
    std::string cwd;
    std::vector<std::string> unsaved;  // names whose values stay in memory
    bool login = true;
    Clock::duration idle_shell = std::chrono::seconds(10);
  };
  struct Request {
    std::uint32_t id = 0;
    std::string script, cwd;
    Plumbing plumbing;
    // Called once with the shell that runs the command; its process is the receiver's from then on.
    std::function<void(Result<std::unique_ptr<Shell>>)> started;
  };

  Session(Trees& trees, const Config& config);
  ~Session();

  const session::State& state() const { return state_; }
  void restore(session::State state);  // goes on where another guest's session was
  // Starts the command at once, or when the login files have been read.
  void run(Request request);
  // Takes a command back that still waits for the login files. False: it does not wait (any more).
  bool cancel(std::uint32_t id);
  // A command's shell is over, by itself: takes over what it captured. (After one that we ended the state stays.)
  void finish(Shell& shell, int status, bool own_cwd);
  // What a shell says it captured, if that is whole and nothing of the command follows it.
  std::optional<int> final_status(Shell& shell) const;
  // Prepares shells for the next commands; a command has just started or ended. Usually one shell, when a command has
  // ended and the state is known. Commands that come faster than shells load get up to three, begun while another
  // runs, in the hope that it leaves the state as it is.
  enum class Moment : unsigned char { command_started, command_ended };
  void prepare(const Plumbing& plumbing, Moment moment);

 private:
  Result<std::unique_ptr<Shell>> start_shell(const Plumbing& plumbing);
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
  bool state_is_calm_ = true;     // the last command left it as it was
  std::vector<Request> waiting_;  // for the login files
  Loop::Timer idle_ = 0;
};

}  // namespace cove::guest
