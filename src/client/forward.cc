#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "client/conversation.h"
#include "client/file_call.h"
#include "client/pool.h"

namespace cove {
namespace {

Result<void> send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      pollfd wait{fd, POLLOUT, 0};
      poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      return fail_errno("write to the forwarded connection");
    }
  }
  return {};
}

}  // namespace

Result<void> Sandbox::forward(int fd, const std::vector<std::string>& target, const Call& call) {
  proto::Run run;
  run.start.kind = proto::CommandKind::connect;
  run.start.argv = target;
  run.start.with_stdin = true;
  run.end_with_client = true;
  COVE_TRY(auto connection, request(proto::ClientType::run, proto::encode(run)));
  Conversation conversation(*connection, {.fd = fd, .pull = {}}, nullptr, call);
  while (true) {
    auto event = conversation.next();
    if (!event) return fail(explain(std::move(event).error(), ""));
    if (const auto* output = std::get_if<Conversation::Output>(&*event)) COVE_CHECK(send_all(fd, output->bytes));
    if (const auto* outcome = std::get_if<Outcome>(&*event)) {
      shutdown(fd, SHUT_WR);
      return check_file(*outcome);
    }
  }
}

}  // namespace cove
