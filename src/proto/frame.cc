#include "proto/frame.h"

#include <algorithm>
#include <cstring>

namespace cove::proto {
namespace {

void put_u32(char* at, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) at[i] = static_cast<char>(value >> (8 * i));
}

std::uint32_t get_u32(const char* at) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value |= static_cast<std::uint32_t>(static_cast<unsigned char>(at[i])) << (8 * i);
  return value;
}

void put_header(char* at, std::size_t size, std::uint8_t type, std::uint8_t flags, std::uint32_t id) {
  put_u32(at, static_cast<std::uint32_t>(size));
  at[4] = static_cast<char>(type);
  at[5] = static_cast<char>(flags);
  at[6] = at[7] = 0;
  put_u32(at + 8, id);
}

}  // namespace

void append_message(ByteQueue& out, std::uint8_t type, std::uint32_t id, std::string_view payload) {
  do {
    const std::string_view piece = payload.substr(0, kMaxPayload);
    payload.remove_prefix(piece.size());
    char* at = out.room(kHeaderBytes + piece.size());
    put_header(at, piece.size(), type, payload.empty() ? 0 : kMore, id);
    if (!piece.empty()) std::memcpy(at + kHeaderBytes, piece.data(), piece.size());
    out.commit(kHeaderBytes + piece.size());
  } while (!payload.empty());
}

char* begin_frame(ByteQueue& out, std::size_t bytes) { return out.room(kHeaderBytes + bytes) + kHeaderBytes; }

void commit_frame(ByteQueue& out, std::uint8_t type, std::uint32_t id, std::size_t bytes) {
  put_header(out.room(kHeaderBytes), bytes, type, 0, id);
  out.commit(kHeaderBytes + bytes);
}

std::span<char> MessageReader::space() {
  in_.consume(std::exchange(pending_, 0));
  char* at = in_.room(std::size_t{64} << 10);
  return {at, in_.spare()};
}

Result<std::optional<Message>> MessageReader::next() {
  std::string().swap(whole_);  // one long message does not cost its memory for ever
  while (true) {
    in_.consume(std::exchange(pending_, 0));
    const std::string_view bytes = in_.view();
    if (bytes.size() < kHeaderBytes) return std::nullopt;
    const std::size_t size = get_u32(bytes.data());
    const auto flags = static_cast<std::uint8_t>(bytes[5]);
    if (size > kMaxPayload) return fail(Errc::protocol, "a frame is longer than the limit");
    if ((flags & ~kMore) != 0 || bytes[6] != 0 || bytes[7] != 0) {
      return fail(Errc::protocol, "a frame has unknown flags");
    }
    if (bytes.size() < kHeaderBytes + size) return std::nullopt;
    pending_ = kHeaderBytes + size;
    consumed_ += pending_;
    COVE_TRY(auto message, take(static_cast<std::uint8_t>(bytes[4]), flags, get_u32(bytes.data() + 8),
                                bytes.substr(kHeaderBytes, size)));
    if (message) return message;
  }
}

Result<std::optional<Message>> MessageReader::take(std::uint8_t type, std::uint8_t flags, std::uint32_t id,
                                                   std::string_view payload) {
  auto partial = partials_.find(id);
  if (partial == partials_.end() && flags == 0) return Message{type, id, payload};
  if (partial == partials_.end()) {
    // A partial message costs us more than the one byte that it may cost the peer.
    if (partials_.size() >= kMaxPartials) return fail(Errc::protocol, "too many messages are incomplete at once");
    partial = partials_.emplace(id, Partial{type, {}}).first;
  }
  if (partial->second.type != type) return fail(Errc::protocol, "a message changes its type half-way");
  // A sender has no reason for an empty piece, and pieces without bytes would never reach a limit.
  if (payload.empty() && flags != 0) return fail(Errc::protocol, "a message has an empty piece");
  partial_bytes_ += payload.size();
  if (partial_bytes_ > kMaxMessage) return fail(Errc::protocol, "a message is longer than the limit");
  partial->second.bytes.append(payload);
  if (flags != 0) return std::nullopt;
  whole_ = std::move(partial->second.bytes);
  partial_bytes_ -= whole_.size();
  partials_.erase(partial);
  return Message{type, id, whole_};
}

}  // namespace cove::proto
