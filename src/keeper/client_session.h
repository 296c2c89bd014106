#pragma once

// One client's connection: proto/client.h from the keeper's side. Passive: the keeper says when bytes came
// (on_readable) and when it is time to write (pump). Output is never queued: a cursor moves through the command's log
// as fast as the socket takes it, straight from the log's own memory.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/byte_queue.h"
#include "keeper/command_table.h"
#include "proto/client.h"
#include "proto/frame.h"

namespace cove::keeper {

class ClientSession;

// What a session needs of its keeper.
class SessionHost {
 public:
  virtual ~SessionHost() = default;
  virtual CommandTable& commands() = 0;
  virtual Result<void> accepting() const = 0;  // an error while the sandbox is going down
  virtual std::string inspect() = 0;           // JSON
  virtual bool holding() const = 0;            // commands wait: what the last one did is being saved
  // Answered with answer_json or answer_error, now or later.
  virtual void layers(ClientSession& asking, const proto::LayerRequest& request) = 0;
  virtual void stop(ClientSession& asking, const proto::StopRequest& request) = 0;
  virtual void wants_pump(ClientSession& session) = 0;       // before the loop sleeps
  virtual void wants_pump_soon(ClientSession& session) = 0;  // ... or a moment later: more may come
};

class ClientSession final : public Reader {
 public:
  ClientSession(SessionHost& host, UniqueFd socket) : host_(host), socket_(std::move(socket)) {}
  ~ClientSession() override;

  int fd() const { return socket_.get(); }
  // An error means that the connection is over: nobody there, or nonsense.
  Result<void> on_readable();
  Result<void> pump();
  bool blocked() const { return blocked_; }  // wants to hear when the socket takes more
  bool busy() const { return state_ != State::hello && state_ != State::ready; }
  void trim();

  // The answer to a stop request; the last thing this session says.
  void answer_done();
  void answer_error(const Error& error);
  void answer_json(std::string json);
  // A command that was held back may start.
  void go_on();

  void wake() override {
    if (!blocked_) host_.wants_pump(*this);  // a full socket says itself when it takes more
  }
  void stdin_taken(std::uint32_t bytes) override;
  void stdin_closed() override;

  // The host's own notes.
  std::uint64_t token = 0;
  bool pump_queued = false;

 private:
  enum class State : unsigned char { hello, ready, held, starting, streaming, waiting, stopping };
  struct Batch;

  template <class Body>
  void reply(proto::ClientType type, const Body& body) {
    proto::append_message(out_, static_cast<std::uint8_t>(type), 0, proto::encode(body));
    wake();
  }
  Result<void> take(const proto::Message& message);
  Result<void> take_request(proto::ClientType type, std::string_view payload);
  Result<void> take_control(proto::ClientType type, std::string_view payload);
  Result<void> keep_for_later(proto::ClientType type, std::string_view payload);
  Result<void> take_hello(std::string_view payload);
  Result<void> run(const proto::Run& request);
  Result<void> attach(const proto::Attach& request);
  Result<void> signal_command(const proto::SignalCommand& request);
  Result<void> feed(const proto::Feed& request);
  void follow(CommandTable::Started found);
  void finish_start();
  void leave_command();

  std::uint64_t readable_end() const;  // of the log, for this reader
  void fill(Batch& batch);
  Result<bool> write(Batch& batch);  // false: the socket is full
  void account(Batch& batch, std::size_t written);

  SessionHost& host_;
  UniqueFd socket_;
  proto::MessageReader reader_;
  ByteQueue out_;
  State state_ = State::hello;
  bool blocked_ = false;

  std::optional<proto::Run> held_;
  std::vector<std::pair<proto::ClientType, std::string>> held_controls_;  // that came after it
  std::size_t held_bytes_ = 0;
  std::shared_ptr<Command> command_;
  bool end_with_client_ = false, background_ = false;
  bool to_the_end_ = true;  // until the outcome; otherwise up to stop_at_
  bool own_run_ = false;    // what it left running in the background is not part of this answer
  std::uint64_t stop_at_ = 0;
  std::uint32_t stdin_credit_ = 0, stdin_owed_ = 0;
};

}  // namespace cove::keeper
