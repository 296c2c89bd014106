#include "mcp/http_stream.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdio>

namespace cove::mcp {
namespace {

constexpr std::chrono::seconds kIdle{60}, kHead{10}, kWhole{60}, kWrite{30}, kFinish{3};
constexpr std::size_t kMostWaiting = std::size_t{1} << 20;

std::string_view reason(int status) {
  switch (status) {
    case 200: return "OK";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 413: return "Content Too Large";
    case 415: return "Unsupported Media Type";
    case 503: return "Service Unavailable";
    default: return "Internal Server Error";
  }
}

Result<bool> wait_for(int fd, short events, Deadline deadline) {
  pollfd one{fd, events, 0};
  const int n = poll(&one, 1, deadline.poll_timeout());
  if (n < 0 && errno != EINTR) return fail_errno("wait for a client");
  return n > 0;
}

}  // namespace

Result<std::optional<HttpRequest>> HttpStream::next(const Admit& admit) {
  closing_ = true;  // unless there is a whole request that wants more of them
  HttpParser parser;
  Deadline deadline = Deadline::after(left_.empty() ? kIdle : kHead);
  std::string buffer(std::size_t{64} << 10, '\0');
  while (true) {
    const bool had_head = parser.head_done();
    COVE_TRY(const std::size_t used, parser.put(left_));
    left_.erase(0, used);
    if (!had_head && parser.head_done()) {
      if (!admit(parser.head())) return parser.head();
      if (parser.wants_continue()) COVE_CHECK(send_all("HTTP/1.1 100 Continue\r\n\r\n"));
      deadline = Deadline::after(kWhole);
      continue;  // the body may be here already
    }
    if (parser.done()) break;
    if (deadline.passed()) return std::nullopt;
    COVE_TRY(const bool ready, wait_for(fd(), POLLIN, deadline));
    if (!ready) continue;
    const ssize_t n = recv(fd(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n <= 0) return std::nullopt;
    if (left_.empty() && !parser.head_done()) deadline = Deadline::after(kHead);
    left_.append(buffer, 0, static_cast<std::size_t>(n));
  }
  HttpRequest request = parser.take();
  closing_ = !request.keep_alive;
  return request;
}

void HttpStream::finish() {
  shutdown(fd(), SHUT_WR);
  const Deadline deadline = Deadline::after(kFinish);
  char buffer[4096];
  while (!deadline.passed()) {
    const auto ready = wait_for(fd(), POLLIN, deadline);
    if (!ready || (*ready && recv(fd(), buffer, sizeof(buffer), MSG_DONTWAIT) <= 0)) return;
  }
}

Result<void> HttpStream::send_all(std::string_view bytes) {
  const Deadline deadline = Deadline::after(kWrite);
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
    if (n < 0 && errno != EAGAIN && errno != EINTR) return fail_errno("write to a client");
    if (deadline.passed()) return fail(Errc::timeout, "a client does not read");
    if (n < 0) COVE_CHECK(wait_for(fd(), POLLOUT, deadline));
  }
  return {};
}

Result<void> HttpStream::send(const Answer& answer) {
  std::string text = "HTTP/1.1 " + std::to_string(answer.status) + " " + std::string(reason(answer.status)) + "\r\n";
  if (!answer.type.empty()) text += "Content-Type: " + answer.type + "\r\n";
  for (const std::string& field : answer.fields) text += field + "\r\n";
  if (closing_) text += "Connection: close\r\n";
  if (answer.status != 204) text += "Content-Length: " + std::to_string(answer.body.size()) + "\r\n";
  return send_all(text + "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\r\n" + answer.body);
}

Result<void> HttpStream::begin_events(const std::vector<std::string>& fields) {
  std::string text = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n";
  for (const std::string& field : fields) text += field + "\r\n";
  return send_all(text + "Cache-Control: no-store\r\nX-Accel-Buffering: no\r\nX-Content-Type-Options: nosniff\r\n\r\n");
}

Result<void> HttpStream::send_chunk(std::string_view bytes) {
  char size[32];
  std::snprintf(size, sizeof(size), "%zx\r\n", bytes.size());
  return send_all(size + std::string(bytes) + "\r\n");
}

// JSON text has no line breaks of its own.
Result<void> HttpStream::send_event(std::string_view json) {
  return send_chunk("event: message\ndata: " + std::string(json) + "\n\n");
}

Result<void> HttpStream::send_comment() { return send_chunk(": still at it\n\n"); }
Result<void> HttpStream::end_events() { return send_all("0\r\n\r\n"); }

HttpReply::HttpReply(Progress progress) : progress_(progress), event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

// A client that reads slowly misses progress, not the result.
void HttpReply::notify(std::string message) {
  const std::lock_guard guard(mutex_);
  if (progress_ == Progress::dropped || bytes_ > kMostWaiting) return;
  bytes_ += message.size();
  messages_.push_back(std::move(message));
  wake();
}

void HttpReply::finish(std::optional<std::string> message) {
  const std::lock_guard guard(mutex_);
  if (message) messages_.push_back(std::move(*message));
  finished_ = true;
  wake();
}

void HttpReply::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = write(event_.get(), &one, sizeof(one));
}

HttpReply::Taken HttpReply::take() {
  const std::lock_guard guard(mutex_);
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t n = read(event_.get(), &count, sizeof(count));
  bytes_ = 0;
  return {.messages = std::exchange(messages_, {}), .finished = finished_};
}

}  // namespace cove::mcp
