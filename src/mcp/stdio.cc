#include "mcp/stdio.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

namespace cove::mcp {
namespace {

// Lines of several threads, whole. What cannot be written any more is dropped.
class Output {
 public:
  Output(int fd, int stop) : fd_(fd), stop_(stop) {}

  void line(std::string text) {
    text += '\n';
    const std::lock_guard guard(mutex_);
    std::string_view rest = text;
    while (!broken_ && !rest.empty()) rest.remove_prefix(write_some(rest));
  }
  void close() { closing_ = true; }

 private:
  // So little that a descriptor that can be written takes it without blocking: a client that does not read must not be
  // able to hold this process when it is told to end.
  static constexpr std::size_t kPiece = 4096;

  std::size_t write_some(std::string_view bytes) {
    pollfd fds[2] = {{fd_, POLLOUT, 0}, {stop_, POLLIN, 0}};
    const int n = poll(fds, 2, closing_ ? 1000 : 5000);
    if (n < 0 && errno == EINTR) return 0;
    const bool writable = n > 0 && (fds[0].revents & POLLOUT) != 0;
    if (!writable && n > 0 && (fds[0].revents != 0 || fds[1].revents != 0)) broken_ = true;
    if (!writable && closing_) broken_ = true;
    if (!writable) return 0;
    const ssize_t written = write(fd_, bytes.data(), std::min(bytes.size(), kPiece));
    if (written < 0 && errno != EINTR && errno != EAGAIN) broken_ = true;
    return written > 0 ? static_cast<std::size_t>(written) : 0;
  }

  const int fd_, stop_;
  std::mutex mutex_;
  bool broken_ = false;
  std::atomic<bool> closing_ = false;
};

class LineReply final : public Reply {
 public:
  explicit LineReply(std::shared_ptr<Output> output) : output_(std::move(output)) {}
  void notify(std::string message) override { output_->line(std::move(message)); }
  void finish(std::optional<std::string> message) override {
    if (message) output_->line(std::move(*message));
  }

 private:
  std::shared_ptr<Output> output_;
};

// Lines out of bytes. Of one that is too long only so much is kept as shows that it is.
class Lines {
 public:
  template <class Take>
  void add(std::string_view bytes, Take take) {
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      const std::string_view piece = bytes.substr(0, end);
      line_ += piece.substr(0, kMostMessage + 1 - std::min(line_.size(), kMostMessage + 1));
      if (end == std::string_view::npos) return;
      bytes.remove_prefix(end + 1);
      if (line_.ends_with('\r')) line_.pop_back();
      if (!line_.empty()) take(line_);
      line_.clear();
      if (line_.capacity() > kMostMessage / 8) line_ = {};
    }
  }

 private:
  std::string line_;
};

}  // namespace

void serve_stdio(Server& server, const Pipes& pipes) {
  const auto output = std::make_shared<Output>(pipes.out, pipes.stop);
  const auto client = std::make_shared<Client>();
  const auto take = [&](const std::string& line) {
    auto read = read_message(line);
    if (const auto* refusal = std::get_if<Refusal>(&read)) return output->line(error_text(*refusal));
    server.take(std::get<Message>(std::move(read)), client, std::make_shared<LineReply>(output));
  };
  Lines lines;
  std::string buffer(std::size_t{64} << 10, '\0');
  while (true) {
    pollfd fds[2] = {{pipes.in, POLLIN, 0}, {pipes.stop, POLLIN, 0}};
    if (poll(fds, 2, -1) < 0 && errno != EINTR) break;
    if (fds[1].revents != 0) break;
    if (fds[0].revents == 0) continue;
    const ssize_t n = read(pipes.in, buffer.data(), buffer.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n <= 0) break;
    lines.add(std::string_view(buffer).substr(0, static_cast<std::size_t>(n)), take);
  }
  output->close();
  server.drain(Deadline::after(std::chrono::seconds(1)));
  server.stop();
}

}  // namespace cove::mcp
