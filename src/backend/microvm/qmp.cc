#include "backend/microvm/qmp.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "os/pass_fd.h"

namespace cove::microvm {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLongestAnswer = std::size_t{1} << 20;

Result<void> send_all(int socket, std::string_view bytes, int fd) {
  while (!bytes.empty()) {
    const ssize_t n = os::send_with_fd(socket, bytes, fd);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail(Errc::disconnected, "QEMU takes no orders any more");
    fd = -1;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

}  // namespace

Result<Json> Qmp::read_line(Deadline deadline) {
  while (true) {
    if (const std::size_t end = heard_.find('\n'); end != std::string::npos) {
      Json line = parse_json(heard_.substr(0, end));
      heard_.erase(0, end + 1);
      if (!line.is_object()) return fail(Errc::protocol, "QEMU says what is no JSON object");
      return line;
    }
    if (heard_.size() > kLongestAnswer) return fail(Errc::protocol, "QEMU says more than it has to say");
    pollfd ready{socket_.get(), POLLIN, 0};
    if (poll(&ready, 1, deadline.poll_timeout()) == 0) return fail(Errc::timeout, "QEMU did not answer in time");
    std::array<char, 4096> bytes{};
    const ssize_t n = recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n <= 0) return fail(Errc::disconnected, "QEMU is gone");
    heard_.append(bytes.data(), static_cast<std::size_t>(n));
  }
}

Result<Json> Qmp::exchange(const std::string& name, const Json& arguments, Deadline deadline, int fd) {
  Json order{{"execute", name}};
  if (!arguments.is_null()) order["arguments"] = arguments;
  COVE_CHECK(send_all(socket_.get(), json_text(order) + "\n", fd));
  while (true) {
    COVE_TRY(Json line, read_line(deadline));
    if (line.contains("return")) return std::move(line["return"]);
    if (!line.contains("error")) continue;  // an event
    const Json& error = line["error"];
    const bool told = error.is_object() && error.contains("desc") && error["desc"].is_string();
    return fail(Errc::internal,
                "QEMU refuses " + name + ": " + (told ? error["desc"].get<std::string>() : "no reason"));
  }
}

Result<void> Qmp::greet(Deadline deadline) {
  COVE_TRY(const Json greeting, read_line(deadline));
  if (!greeting.contains("QMP")) return fail(Errc::protocol, "QEMU does not greet as it should");
  COVE_CHECK(exchange("qmp_capabilities", Json(), deadline, -1));
  greeted_ = true;
  return {};
}

Result<Json> Qmp::order(const std::string& name, const Json& arguments, Deadline deadline, int fd) {
  if (!socket_) return fail(Errc::disconnected, "QEMU is gone");
  if (!greeted_) COVE_CHECK(greet(deadline));
  return exchange(name, arguments, deadline, fd);
}

}  // namespace cove::microvm
