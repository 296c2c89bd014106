#pragma once

// The guest's end of the channel. It can outlive a broken stream: then what was sent and not acknowledged is kept, and
// goes out again on the next one (proto/guest.h).

#include <functional>

#include "base/byte_queue.h"
#include "base/deadline.h"
#include "base/unique_fd.h"
#include "guest/loop.h"
#include "proto/frame.h"
#include "proto/guest.h"

namespace cove::guest {

class Channel {
 public:
  struct Events {
    std::function<Result<void>(const proto::Message&)> message;  // an error ends the guest
    std::function<void()> room;                                  // was full, is not any more
  };
  // An empty `out`: `in` is a socket for both directions. With a listener streams come from there, and without one in
  // the time of `first_visit` nobody ever will.
  Channel(Loop& loop, UniqueFd in, UniqueFd out, UniqueFd listener, Clock::duration first_visit, Events events);

  ByteQueue& out() { return queue_; }
  bool is_full() const { return queue_.size() > kFullBytes || history_.size() > proto::kUnackedBytes; }
  bool over() const { return over_; }      // closed for good
  bool broken() const { return broken_; }  // ... because the keeper broke the protocol
  void flush();

  // `in` is a port of a machine, which never closes: a stream begins with this mark, which is answered with itself, and
  // all that is in the port before it is dropped (proto/machine.h). "": nothing is heard until there is one.
  void expect(std::string mark);

  void may_reconnect(Clock::duration wait) { wait_ = wait; }
  void send_hello(const proto::GuestHello& hello);  // not counted
  Result<void> resume(std::uint64_t received, proto::GuestHello answer);
  Result<void> acknowledge(std::uint64_t received);

 private:
  static constexpr std::size_t kFullBytes = std::size_t{4} << 20;

  void open(UniqueFd in, UniqueFd out);
  void accept();
  void lost();
  void await_visit(Clock::duration left);
  void read();
  void seek();
  int out_fd() const { return out_ ? out_.get() : in_.get(); }
  void watch_for_room(bool wanted);
  std::uint64_t received() const { return reader_.consumed() - hello_bytes_; }
  void tell_received();

  Loop& loop_;
  UniqueFd in_, out_, listener_;
  Events events_;
  proto::MessageReader reader_;
  ByteQueue queue_;    // not sent yet
  ByteQueue history_;  // sent, not acknowledged; begins at history_start_
  std::uint64_t history_start_ = 0;
  std::uint64_t stream_start_ = 0, hello_bytes_ = 0, told_ = 0;  // of what was received
  std::size_t uncounted_ = 0;                                    // of the queue's front: a hello
  Clock::duration wait_{0};
  Loop::Timer give_up_ = 0;
  bool over_ = false, broken_ = false, watched_ = false;
  bool is_port_ = false, seeking_ = false;
  std::string mark_, sought_;
  bool in_step_ = true;  // a new stream carries nothing of the old one before both know where to go on
};

}  // namespace cove::guest
