// The writing half of ClientSession: what is queued, then output straight from the log, then the outcome, in one
// sendmsg.

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>

#include "keeper/client_session.h"

namespace cove::keeper {
namespace {

using proto::ClientType;

constexpr std::size_t kMaxFrames = 16;
constexpr std::size_t kBatchBytes = std::size_t{512} << 10;
constexpr std::size_t kPrefixBytes = proto::kHeaderBytes + proto::kOutputHeaderBytes;

void put_le(char* at, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) at[i] = static_cast<char>(value >> (8 * i));
}

}  // namespace

struct ClientSession::Batch {
  struct Frame {
    std::array<char, kPrefixBytes> prefix;
    std::string_view bytes;
    std::uint64_t next_cursor;
    std::size_t size() const { return kPrefixBytes + bytes.size(); }
  };
  std::array<Frame, kMaxFrames> frames;
  std::size_t count = 0, total = 0;
  std::string scratch;
  ByteQueue tail;  // the outcome, when it is its turn
  bool ends = false;

  void add(const OutputLog::Piece& piece) {
    Frame& frame = frames[count++];
    char* at = frame.prefix.data();
    put_le(at, kPrefixBytes - proto::kHeaderBytes + piece.bytes.size(), 4);
    at[4] = static_cast<char>(ClientType::output);
    put_le(at + 5, 0, 7);
    put_le(at + proto::kHeaderBytes, piece.offset, 8);
    at[kPrefixBytes - 1] = static_cast<char>(piece.stream);
    frame.bytes = piece.bytes;
    frame.next_cursor = piece.offset + piece.bytes.size();
    total += frame.size();
  }
};

// A reader that does not follow stops where the log ended when it asked, unless the command has ended since: its
// outcome comes with the whole output.
std::uint64_t ClientSession::readable_end() const {
  if (!to_the_end_ && command_->running()) return stop_at_;
  if (own_run_ && !command_->running()) return command_->exit_bytes();
  return command_->log.end();
}

void ClientSession::fill(Batch& batch) {
  batch.total = out_.size();
  if (state_ != State::streaming) return;
  const std::uint64_t end = readable_end();
  std::uint64_t at = cursor;
  while (batch.count < kMaxFrames && batch.total < kBatchBytes && at < end) {
    auto piece = command_->log.read(at, batch.scratch);
    if (!piece || piece->offset >= end) {
      at = end;  // what is missing here was not kept
      break;
    }
    piece->bytes = piece->bytes.substr(0, end - piece->offset);
    batch.add(*piece);
    at = batch.frames[batch.count - 1].next_cursor;
    if (piece->bytes.data() == batch.scratch.data()) break;  // there is one scratch
  }
  if (at < end || (to_the_end_ && command_->running())) return;
  proto::append_message(batch.tail, static_cast<std::uint8_t>(ClientType::outcome), 0,
                        proto::encode(command_->outcome()));
  batch.total += batch.tail.size();
  batch.ends = true;
}

// A frame that went out in part is owed in full: its rest is copied, because the log may let go of it. What did not
// begin is simply read again later.
void ClientSession::account(Batch& batch, std::size_t written) {
  const std::size_t queued = std::min(written, out_.size());
  out_.consume(queued);
  written -= queued;
  for (std::size_t i = 0; i < batch.count && written > 0; ++i) {
    const Batch::Frame& frame = batch.frames[i];
    cursor = frame.next_cursor;
    const std::size_t done = std::min(written, frame.size());
    written -= done;
    if (done == frame.size()) continue;
    if (done < kPrefixBytes) out_.append({frame.prefix.data() + done, kPrefixBytes - done});
    out_.append(frame.bytes.substr(done > kPrefixBytes ? done - kPrefixBytes : 0));
    return;
  }
  if (!batch.ends || written == 0) return;
  batch.tail.consume(std::min(written, batch.tail.size()));
  out_.append(batch.tail.view());
  leave_command();
  state_ = State::ready;
}

Result<bool> ClientSession::write(Batch& batch) {
  std::array<iovec, 2 * kMaxFrames + 2> parts{};
  std::size_t n = 0;
  const auto add = [&](std::string_view bytes) {
    if (!bytes.empty()) parts[n++] = {const_cast<char*>(bytes.data()), bytes.size()};
  };
  add(out_.view());
  for (std::size_t i = 0; i < batch.count; ++i) {
    add({batch.frames[i].prefix.data(), kPrefixBytes});
    add(batch.frames[i].bytes);
  }
  add(batch.tail.view());
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = n;
  ssize_t sent = 0;
  do sent = sendmsg(fd(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  while (sent < 0 && errno == EINTR);
  if (sent < 0 && errno != EAGAIN) return fail(Errc::disconnected, "the client is gone");
  if (sent <= 0) return false;
  const bool all = static_cast<std::size_t>(sent) == batch.total;
  account(batch, static_cast<std::size_t>(sent));
  return all;
}

Result<void> ClientSession::pump() {
  blocked_ = false;
  // A fast reader of an endless command must not keep the loop for itself.
  for (int turns = 0; turns < 4; ++turns) {
    if (state_ == State::starting) finish_start();
    Batch batch;
    fill(batch);
    if (batch.total == 0) return {};
    const std::shared_ptr<Command> command = command_;
    COVE_TRY(const bool all, write(batch));
    if (command) host_.commands().grant(*command);
    if (!all) {
      blocked_ = true;
      return {};
    }
  }
  host_.wants_pump(*this);
  return {};
}

}  // namespace cove::keeper
