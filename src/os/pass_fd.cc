#include "os/pass_fd.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace cove::os {
namespace {

// A message of one piece, with room for one descriptor.
struct Message {
  explicit Message(iovec& piece) {
    head.msg_iov = &piece;
    head.msg_iovlen = 1;
    head.msg_control = control.data();
    head.msg_controllen = control.size();
  }
  msghdr head{};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
};

}  // namespace

ssize_t send_with_fd(int socket, std::string_view bytes, int fd, int flags) {
  iovec piece{const_cast<char*>(bytes.data()), bytes.size()};
  Message message(piece);
  if (fd >= 0) {
    cmsghdr* header = CMSG_FIRSTHDR(&message.head);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &fd, sizeof(fd));
  } else {
    message.head.msg_controllen = 0;
  }
  return sendmsg(socket, &message.head, MSG_NOSIGNAL | flags);
}

Received receive_with_fd(int socket, std::size_t most) {
  Received received{std::string(most, '\0'), {}};
  iovec piece{received.bytes.data(), most};
  Message message(piece);
  ssize_t n = 0;
  do n = recvmsg(socket, &message.head, MSG_CMSG_CLOEXEC);
  while (n < 0 && errno == EINTR);
  received.bytes.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  const cmsghdr* header = n > 0 ? CMSG_FIRSTHDR(&message.head) : nullptr;
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS || header->cmsg_len != CMSG_LEN(sizeof(int)))
    return received;
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(header), sizeof(fd));
  received.fd.reset(fd);
  return received;
}

}  // namespace cove::os
