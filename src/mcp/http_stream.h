#pragma once

#include <condition_variable>
#include <deque>
#include <functional>

#include "base/deadline.h"
#include "base/unique_fd.h"
#include "mcp/http_request.h"
#include "mcp/server.h"

namespace cove::mcp {

// A connected socket with deadlines. Errors mean that the connection is of no use any more.
class HttpStream {
 public:
  explicit HttpStream(UniqueFd socket) : socket_(std::move(socket)) {}
  int fd() const { return socket_.get(); }

  // nullopt: the client has closed, or taken too long. Of a request whose head is not admitted the body is not read: a
  // stranger takes no memory here.
  using Admit = std::function<bool(const HttpRequest& head)>;
  Result<std::optional<HttpRequest>> next(const Admit& admit);
  struct Answer {
    int status = 200;
    std::string type, body;
    std::vector<std::string> fields = {};  // "Name: value"
  };
  Result<void> send(const Answer& answer);
  Result<void> begin_events(const std::vector<std::string>& fields);
  Result<void> send_event(std::string_view json);
  Result<void> send_comment();  // keeps the connection alive
  Result<void> end_events();
  bool closing() const { return closing_; }  // nothing more is asked after this
  // Nothing more is said. What the client still sends is read for a moment: a connection that is closed before that is
  // reset, and the last answer may be lost with it.
  void finish();

 private:
  Result<void> send_all(std::string_view bytes);
  Result<void> send_chunk(std::string_view bytes);

  UniqueFd socket_;
  std::string left_;      // read, and not part of the last request
  bool closing_ = false;  // the connection ends after this answer
};

// The messages of one request on their way from the call's thread to the connection's.
class HttpReply final : public Reply {
 public:
  enum class Progress : unsigned char { sent, dropped };
  explicit HttpReply(Progress progress);
  void notify(std::string message) override;
  void finish(std::optional<std::string> message) override;

  int event() const { return event_.get(); }  // can be read when there is something to take
  struct Taken {
    std::deque<std::string> messages;
    bool finished = false;
  };
  Taken take();

 private:
  void wake();

  const Progress progress_;
  UniqueFd event_;
  std::mutex mutex_;
  std::deque<std::string> messages_;
  std::size_t bytes_ = 0;
  bool finished_ = false;
};

}  // namespace cove::mcp
