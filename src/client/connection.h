#pragma once

#include <optional>

#include "base/byte_queue.h"
#include "client/cove.h"
#include "proto/frame.h"

namespace cove {

// One socket to the keeper: queues frames, writes them, reads messages. Carries one request at a time.
// The hello is queued first and goes out together with the first request, so a new connection costs no round trip more.
class Sandbox::Connection {
 public:
  enum class Waiting : unsigned char { no, yes };

  explicit Connection(UniqueFd socket);

  int fd() const { return socket_.get(); }
  ByteQueue& out() { return out_; }
  // Queues a message; flush() writes it.
  void send(proto::ClientType type, std::string_view payload);
  // Writes what the socket takes; waiting: all of it. True when nothing is left.
  Result<bool> flush(Waiting waiting);
  // Reads what is there; waiting: blocks for the first byte. False: nothing is there now. disconnected: it is over.
  Result<bool> fill(Waiting waiting);
  // The next message that has been read; a view into the buffer, valid until the next call. The hello stays inside.
  Result<std::optional<proto::Message>> next();

  // A frame that the keeper may see after the request has ended makes the connection unfit for another one.
  void spoil() { reusable_ = false; }
  bool reusable() const { return reusable_ && out_.empty(); }

 private:
  Result<void> check_hello(const proto::Message& message);

  UniqueFd socket_;
  ByteQueue out_;
  proto::MessageReader in_;
  bool greeted_ = false, reusable_ = true;
};

// What an `error` message carries, as an error of this side.
Error to_error(const proto::Message& message);
// Decodes a message of the type that was expected; `error` becomes an Error, anything else is a protocol error.
Result<std::string_view> expect(const proto::Message& message, proto::ClientType type);

}  // namespace cove
