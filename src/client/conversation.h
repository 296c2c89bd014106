#pragma once

#include <variant>

#include "client/connection.h"
#include "client/control.h"

namespace cove {

// Where a command's stdin comes from: a descriptor that is watched, or a function that is asked when there is credit.
struct StdinSource {
  int fd = -1;
  // Fills the front of the span and says how much; 0 is the end of the file.
  std::function<Result<std::size_t>(std::span<char>)> pull;
  bool given() const { return fd >= 0 || pull != nullptr; }
};

// One command (or file operation) over one connection, from the sent request to the outcome, driven by next().
// A stopped call interrupts its command once and waits a little for the honest outcome.
class Sandbox::Conversation {
 public:
  struct Output {
    Stream stream;
    std::string_view bytes;  // valid until the next call
  };
  struct StillRunning {};
  using Event = std::variant<proto::CommandStarted, Output, StillRunning, Outcome>;

  Conversation(Connection& connection, StdinSource source, Control* control, const Call& call);

  // From now on StillRunning is an event too, at most this often.
  void tell_every(std::chrono::milliseconds period);
  // From now on a stop ends this conversation and not the command.
  void leave_when_stopped() { leave_ = true; }
  // Blocks for the next event; the outcome is the last one. An error ends the conversation and the connection.
  Result<Event> next();
  // Of the command, once it has started.
  const std::string& id() const { return id_; }

 private:
  Result<std::optional<Event>> take(const proto::Message& message);
  Result<void> take_credit(std::string_view payload);
  Result<void> wait();
  void flush();
  Result<void> check_time();
  bool only_socket_matters() const;
  void obey_control();
  void interrupt();
  Result<void> send_stdin();
  void read_stdin_fd();
  std::span<char> begin_piece();
  void end_piece(std::size_t bytes);
  bool wants_stdin() const;

  Connection& connection_;
  StdinSource stdin_;
  Control::State* control_ = nullptr;
  StopEvent stop_;
  Deadline deadline_;
  std::chrono::milliseconds period_{0};
  Deadline tell_at_ = Deadline::never();
  bool stdin_open_ = false, interrupted_ = false, stopping_ = false, leave_ = false;
  std::uint64_t credit_ = 0;
  std::string id_;
};

}  // namespace cove
