#pragma once

#include <functional>
#include <string_view>

#include "backend/backend.h"
#include "base/byte_queue.h"
#include "proto/frame.h"
#include "proto/guest.h"

namespace cove::keeper {

// The keeper's end of the channel. Frames are queued by send() and leave by flush(), once per turn of the loop, so that
// what belongs together goes out in one write.
class GuestLink {
 public:
  explicit GuestLink(Channel channel);

  void send(proto::GuestType type, std::uint32_t id, std::string_view payload);
  template <class Body>
  void send(proto::GuestType type, std::uint32_t id, const Body& body) {
    send(type, id, std::string_view(proto::encode(body)));
  }

  // disconnected: the guest is gone. What does not fit stays queued: see blocked().
  Result<void> flush();
  bool blocked() const { return !out_.empty(); }

  enum class Read : unsigned char { some, nothing, end };
  // One read(), then every whole message goes to `take`. An error of `take` ends it.
  Result<Read> receive(const std::function<Result<void>(const proto::Message&)>& take);

  // Gives buffers back when there is nothing in them.
  void trim();

  int in_fd() const { return channel_.in.get(); }
  int out_fd() const { return channel_.out.get(); }
  void close() { channel_ = {}; }

 private:
  Channel channel_;
  proto::MessageReader reader_;
  ByteQueue out_;
};

}  // namespace cove::keeper
