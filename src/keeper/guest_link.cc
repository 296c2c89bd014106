#include "keeper/guest_link.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace cove::keeper {

GuestLink::GuestLink(Channel channel) : channel_(std::move(channel)) {
  for (const int fd : {in_fd(), out_fd()}) fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

void GuestLink::send(proto::GuestType type, std::uint32_t id, std::string_view payload) {
  proto::append_message(out_, static_cast<std::uint8_t>(type), id, payload);
}

Result<void> GuestLink::flush() {
  while (!out_.empty()) {
    const ssize_t n = write(out_fd(), out_.view().data(), out_.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return {};
    if (n < 0) return fail(Errc::disconnected, "the guest does not listen any more");
    out_.consume(static_cast<std::size_t>(n));
  }
  return {};
}

Result<GuestLink::Read> GuestLink::receive(const std::function<Result<void>(const proto::Message&)>& take) {
  const std::span<char> space = reader_.space();
  const ssize_t n = read(in_fd(), space.data(), space.size());
  if (n < 0) return errno == EAGAIN || errno == EINTR ? Read::nothing : Read::end;
  if (n == 0) return Read::end;
  reader_.filled(static_cast<std::size_t>(n));
  while (true) {
    COVE_TRY(const auto message, reader_.next());
    if (!message) return Read::some;
    COVE_CHECK(take(*message));
  }
}

void GuestLink::trim() {
  if (reader_.empty()) reader_ = proto::MessageReader();
  if (out_.empty()) out_ = ByteQueue();
}

}  // namespace cove::keeper
