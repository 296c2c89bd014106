#pragma once

// A server on loopback that answers as a test wants: one request per connection, all of them kept.

#include <arpa/inet.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.h"

namespace cove::image::testing {

class TestServer {
 public:
  // Gets the head of a request (and what else came with it); gives the whole answer.
  using Answer = std::function<std::string(const std::string& request)>;

  explicit TestServer(Answer answer)
      : answer_(std::move(answer)), listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), over_(eventfd(0, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (bind(listener_.get(), generic, size) != 0 || listen(listener_.get(), 64) != 0 ||
        getsockname(listener_.get(), generic, &size) != 0) {
      std::abort();
    }
    port_ = std::to_string(ntohs(address.sin_port));
    thread_ = std::thread([this] { serve(); });
  }
  ~TestServer() {
    eventfd_write(over_.get(), 1);
    thread_.join();
  }
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  const std::string& port() const { return port_; }
  std::string host() const { return "127.0.0.1:" + port_; }
  std::string url(const std::string& path) const { return "http://" + host() + path; }
  std::vector<std::string> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  void serve() {
    for (;;) {
      pollfd both[] = {{listener_.get(), POLLIN, 0}, {over_.get(), POLLIN, 0}};
      poll(both, 2, -1);
      if (both[1].revents != 0) return;
      const UniqueFd peer(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (peer) talk(peer.get());
    }
  }
  void talk(int peer) {
    std::string request;
    char buffer[4096];
    while (request.find("\r\n\r\n") == std::string::npos) {
      const ssize_t got = read(peer, buffer, sizeof(buffer));
      // The hello of TLS, from a client that tries that first.
      if (got <= 0 || (request.empty() && buffer[0] == 0x16)) return;
      request.append(buffer, static_cast<std::size_t>(got));
    }
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    const std::string answer = answer_(request);
    [[maybe_unused]] const auto sent = send(peer, answer.data(), answer.size(), MSG_NOSIGNAL);
    shutdown(peer, SHUT_WR);
    while (read(peer, buffer, sizeof(buffer)) > 0) {}
  }

  Answer answer_;
  UniqueFd listener_, over_;
  std::string port_;
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

inline std::string answer_with(const std::string& status, const std::string& headers, const std::string& body) {
  return "HTTP/1.1 " + status + "\r\n" + headers + "Content-Length: " + std::to_string(body.size()) +
         "\r\nConnection: close\r\n\r\n" + body;
}

}  // namespace cove::image::testing
