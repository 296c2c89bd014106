#include "os/netlink.h"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/unique_fd.h"

namespace cove::os {
namespace {

// How many of the answers in this piece are acknowledgements; an error is left in `error`.
std::size_t read_answers(const char* piece, std::size_t size, int& error) {
  std::size_t count = 0;
  for (std::size_t at = 0; at + sizeof(nlmsghdr) + sizeof(int) <= size;) {
    nlmsghdr header{};
    std::memcpy(&header, piece + at, sizeof(header));
    if (header.nlmsg_len < sizeof(header)) break;
    if (header.nlmsg_type == NLMSG_ERROR) {
      int negative = 0;
      std::memcpy(&negative, piece + at + sizeof(header), sizeof(negative));
      if (negative != 0 && error == 0) error = -negative;
      ++count;
    }
    at += NLMSG_ALIGN(header.nlmsg_len);
  }
  return count;
}

}  // namespace

void NetlinkMessages::align() { bytes_.resize(NLMSG_ALIGN(bytes_.size())); }

void NetlinkMessages::begin(std::uint16_t type, std::uint16_t flags, std::string_view header) {
  align();
  message_ = bytes_.size();
  if ((flags & NLM_F_ACK) != 0) ++answers_;
  const auto length = static_cast<std::uint32_t>(NLMSG_HDRLEN + header.size());
  bytes_ += bytes_of(nlmsghdr{length, type, static_cast<std::uint16_t>(flags | NLM_F_REQUEST), 0, 0});
  bytes_ += header;
}

void NetlinkMessages::attribute(std::uint16_t type, std::string_view bytes) {
  const std::size_t start = begin_nested(type);
  bytes_ += bytes;
  end_nested(start);
}

void NetlinkMessages::number(std::uint16_t type, std::uint32_t value) { attribute(type, bytes_of(htonl(value))); }

void NetlinkMessages::text(std::uint16_t type, std::string_view zero_ended) {
  attribute(type, std::string(zero_ended) + '\0');
}

std::size_t NetlinkMessages::begin_nested(std::uint16_t type) {
  align();
  bytes_ += bytes_of(nlattr{0, type});
  return bytes_.size() - sizeof(nlattr);
}

// The length is known only now; that of the message grows with it.
void NetlinkMessages::end_nested(std::size_t start) {
  const auto length = static_cast<std::uint16_t>(bytes_.size() - start);
  std::memcpy(bytes_.data() + start, &length, sizeof(length));
  align();
  const auto whole = static_cast<std::uint32_t>(bytes_.size() - message_);
  std::memcpy(bytes_.data() + message_, &whole, sizeof(whole));
}

int NetlinkMessages::send(int protocol) const {
  const UniqueFd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol));
  if (!socket) return errno;
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  if (sendto(socket.get(), bytes_.data(), bytes_.size(), 0, reinterpret_cast<sockaddr*>(&kernel), sizeof(kernel)) < 0) {
    return errno;
  }
  int error = 0;
  for (std::size_t left = answers_; left > 0 && error == 0;) {
    alignas(nlmsghdr) char piece[16384];
    const ssize_t n = recv(socket.get(), piece, sizeof(piece), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    const std::size_t answered = read_answers(piece, static_cast<std::size_t>(n), error);
    left -= answered < left ? answered : left;
  }
  return error;
}

}  // namespace cove::os
