#pragma once

// How bytes on a channel (keeper-guest) or a sandbox socket (client-keeper) become messages.
//
//   frame   := size:u32  type:u8  flags:u8  zero:u16  id:u32  payload:size bytes        (little-endian, 12 + size
//   bytes) message := one frame, or several of the same id: all but the last carry kMore, all have the same type
//
// `id` names the command that a frame is about; 0 is the connection itself. A payload is at most kMaxPayload bytes, a
// message at most kMaxMessage. Both ends begin with a hello that carries the version; nothing else is understood
// before. Readers never trust a length: memory grows only as bytes arrive, and a broken rule is a protocol error that
// ends the connection, because after one wrong byte no later byte means anything.
//
// Rejected: protobuf and flatbuffers (larger than the whole guest, and the schema is a page); JSON lines (output is
// bytes, not text); varints (a fixed header is read in one step, and 12 bytes are nothing beside a system call);
// one message per datagram (channels through ssh, docker and virtio are streams).

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/byte_queue.h"
#include "base/error.h"

namespace cove::proto {

inline constexpr std::size_t kHeaderBytes = 12;
inline constexpr std::size_t kMaxPayload = std::size_t{256} << 10;
inline constexpr std::size_t kMaxMessage = std::size_t{64} << 20;
inline constexpr std::size_t kMaxPartials = 256;  // messages of which not all frames have come
inline constexpr std::uint8_t kMore = 1;

struct Message {
  std::uint8_t type = 0;
  std::uint32_t id = 0;
  std::string_view payload;  // valid until the reader is used again
};

// Appends a message, split into frames where it is longer than one.
void append_message(ByteQueue& out, std::uint8_t type, std::uint32_t id, std::string_view payload);

// For bulk data without a copy: room for a frame of up to `bytes`; fill it, then commit_frame with the real size.
char* begin_frame(ByteQueue& out, std::size_t bytes);
void commit_frame(ByteQueue& out, std::uint8_t type, std::uint32_t id, std::size_t bytes);

// Turns a byte stream into messages. Use: read into space(), filled(n), then next() until it has none.
class MessageReader {
 public:
  std::span<char> space();
  void filled(std::size_t bytes) { in_.commit(bytes); }
  Result<std::optional<Message>> next();
  // Bytes of whole frames taken so far. After a break of the stream the sender goes on there; see restart().
  std::uint64_t consumed() const { return consumed_; }
  // A new stream continues the old one at consumed(): the frame that was cut off is dropped, it comes again.
  void restart() {
    in_ = ByteQueue();
    pending_ = 0;
  }
  // Nothing but what was handed out already: it can be thrown away without loss.
  bool empty() const { return in_.size() == pending_ && partials_.empty(); }
  // Nothing counts as taken that was not handed out: another reader could go on at consumed().
  bool whole() const { return partials_.empty(); }

 private:
  Result<std::optional<Message>> take(std::uint8_t type, std::uint8_t flags, std::uint32_t id,
                                      std::string_view payload);

  struct Partial {
    std::uint8_t type;
    std::string bytes;
  };

  ByteQueue in_;
  std::size_t pending_ = 0;  // bytes of the message handed out last; dropped on the next call
  std::map<std::uint32_t, Partial> partials_;
  std::size_t partial_bytes_ = 0;
  std::uint64_t consumed_ = 0;
  std::string whole_;  // keeps a reassembled message alive until the next call
};

}  // namespace cove::proto
