#pragma once

#include <functional>
#include <string_view>

#include "backend/backend.h"
#include "base/byte_queue.h"
#include "proto/frame.h"
#include "proto/guest.h"

namespace cove::keeper {

// The keeper's end of the channel. Frames are queued by send() and leave by flush(), once per turn of the loop, so that
// what belongs together goes out in one write. It can outlive a broken stream (keep_history, reopen): then what was
// sent and not acknowledged goes out again on the next one, and nothing that came is taken twice (proto/guest.h).
class GuestLink {
 public:
  // How far both ends are, for another keeper that goes on with this guest.
  struct State {
    std::uint64_t received = 0, acknowledged = 0;
    std::string unacknowledged;  // what follows of what was sent, and what was to be sent
    template <class Ar, class Self>
    static void fields(Ar& ar, Self& s) {
      ar(s.received, s.acknowledged, s.unacknowledged);
    }
  };

  explicit GuestLink(Channel channel);
  // Says hello to a guest that is in this state, at the next flush. in_step(): it has answered.
  GuestLink(Channel channel, const State& state);
  // busy: half of a message is here.
  Result<State> state() const;

  // A hello goes ahead of everything that waits.
  void send(proto::GuestType type, std::uint32_t id, std::string_view payload);
  template <class Body>
  void send(proto::GuestType type, std::uint32_t id, const Body& body) {
    send(type, id, std::string_view(proto::encode(body)));
  }

  // disconnected: the guest is gone. What does not fit stays queued: see blocked(). Without a channel all of it does.
  Result<void> flush();
  bool blocked() const { return is_open() && (!hello_.empty() || (in_step_ && !out_.empty())); }

  enum class Read : unsigned char { some, nothing, end };
  // One read(), then every whole message goes to `take`. An error of `take` ends it.
  Result<Read> receive(const std::function<Result<void>(const proto::Message&)>& take);

  // Gives buffers back when there is nothing in them.
  void trim();

  int in_fd() const { return channel_.in.get(); }
  int out_fd() const { return channel_.out.get(); }
  bool is_open() const { return bool(channel_.in); }
  void close() { channel_ = {}; }
  Channel give_up() { return std::exchange(channel_, {}); }

  // Before the first hello: the guest will wait for another channel when this one breaks.
  void keep_history() { keeps_ = true; }
  // False: too much was sent that the guest has not acknowledged.
  bool can_resume() const { return keeps_; }
  // Another channel in the place of the one that broke. What is sent waits until the guest has said how far it is.
  void reopen(Channel channel);
  bool in_step() const { return in_step_; }

 private:
  static constexpr std::size_t kMostHistory = 2 * proto::kMaxMessage;

  void open(Channel channel);
  void say_hello_again();
  std::uint64_t consumed() const { return consumed_before_ + reader_.consumed(); }
  std::uint64_t received() const { return consumed() - hello_bytes_; }
  Result<bool> take_own(const proto::Message& message);  // false: it is not about the link
  Result<void> go_on(std::uint64_t received);
  Result<void> acknowledge(std::uint64_t received);
  Result<bool> write(ByteQueue& from);  // false: the channel is full
  void remember(std::string_view sent);

  Channel channel_;
  proto::MessageReader reader_;
  ByteQueue hello_, out_;
  ByteQueue history_;  // sent, not acknowledged; begins at history_start_
  std::uint64_t history_start_ = 0;
  std::uint64_t consumed_before_ = 0;  // by readers that were thrown away
  std::uint64_t stream_start_ = 0, hello_bytes_ = 0, told_ = 0;
  bool keeps_ = false, in_step_ = true;
};

}  // namespace cove::keeper
