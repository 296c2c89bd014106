#include "servers.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>

#include "helpers/process.h"
#include "helpers/program.h"

namespace cove::image_tests {
namespace {

using testing_helpers::eventually;

sockaddr_in loopback(const std::string& port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(port)));
  return address;
}

UniqueFd listen_on(const std::string& port) {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(port);
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return {};
  if (listen(fd.get(), 64) != 0) return {};
  return fd;
}

std::string port_of(int fd) {
  sockaddr_in address{};
  socklen_t size = sizeof(address);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return std::to_string(ntohs(address.sin_port));
}

UniqueFd connect_to(const std::string& port) {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(port);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return {};
  return fd;
}

bool send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

// The head of a request; "" from a client that tries TLS first.
std::string read_head(int fd) {
  std::string head;
  char buffer[4096];
  while (head.find("\r\n\r\n") == std::string::npos) {
    const ssize_t got = read(fd, buffer, sizeof(buffer));
    if (got <= 0 || (head.empty() && buffer[0] == 0x16)) return "";
    head.append(buffer, static_cast<std::size_t>(got));
  }
  return head;
}

}  // namespace

// Below the ports that the kernel gives out by itself: one of those could be taken before the server has it, and a
// client that tries such a port while nobody listens may be connected with itself.
std::string free_port() {
  std::random_device random;
  while (true) {
    const std::string port = std::to_string(10'000 + random() % 20'000);
    if (listen_on(port)) return port;
  }
}

RegistryServer::RegistryServer(const std::string& folder, const std::string& storage, const std::string& more)
    : folder_(folder), port_(free_port()) {
  std::filesystem::create_directories(folder_);
  std::ofstream(folder_ + "/config.yml") << "version: 0.1\nlog: {level: info}\nstorage: {filesystem: {rootdirectory: " +
                                                storage + "}}\nhttp:\n  addr: " + host() + "\n" + more;
  start();
}

void RegistryServer::start() {
  const UniqueFd log(open((folder_ + "/log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  const UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  os::ExecSpec spec{.argv = {"docker-registry", "serve", folder_ + "/config.yml"},
                    .env = testing_helpers::environment_with({"OTEL_TRACES_EXPORTER=none"})};
  spec.fds = {{null.get(), 0}, {log.get(), 1}, {log.get(), 2}};
  spec.parent_death_signal = SIGKILL;  // also if the test program crashes
  auto child = os::Child::spawn(spec);
  ASSERT_TRUE(child) << child.error().text();
  child_.emplace(std::move(*child));
  ASSERT_TRUE(eventually([&] { return static_cast<bool>(connect_to(port_)); }))
      << testing_helpers::slurp(folder_ + "/log");
}

void RegistryServer::kill() {
  if (!child_) return;
  (void)child_->signal(SIGKILL);
  (void)child_->wait(Deadline::never());
  child_.reset();
}

Proxy::Proxy(std::string upstream_port)
    : upstream_(std::move(upstream_port)), listener_(listen_on("0")), over_(eventfd(0, EFD_CLOEXEC)) {
  port_ = port_of(listener_.get());
  thread_ = std::thread([this] { serve(); });
}

Proxy::~Proxy() {
  eventfd_write(over_.get(), 1);
  thread_.join();
  for (std::thread& talk : talks_) talk.join();
}

void Proxy::flip_in(const std::string& what) {
  const std::lock_guard lock(mutex_);
  flip_ = what;
}

void Proxy::cut_in(const std::string& what, std::size_t bytes, std::function<void()> then) {
  const std::lock_guard lock(mutex_);
  cut_ = what;
  cut_bytes_ = bytes;
  then_ = std::move(then);
}

std::vector<std::string> Proxy::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

std::size_t Proxy::count(const std::string& method, const std::string& what) const {
  std::size_t found = 0;
  for (const std::string& request : requests()) {
    if (request.starts_with(method) && request.find(what) != std::string::npos) ++found;
  }
  return found;
}

void Proxy::forget() {
  const std::lock_guard lock(mutex_);
  requests_.clear();
}

void Proxy::serve() {
  for (;;) {
    pollfd both[] = {{listener_.get(), POLLIN, 0}, {over_.get(), POLLIN, 0}};
    poll(both, 2, -1);
    if (both[1].revents != 0) return;
    UniqueFd client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (client) talks_.emplace_back([this, fd = client.release()] { talk(UniqueFd(fd)); });
  }
}

// With "Connection: close" the end of an answer is the end of its connection, and nothing here has to count.
void Proxy::talk(UniqueFd client) {
  std::string request = read_head(client.get());
  if (request.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    requests_.push_back(request);
  }
  const UniqueFd server = connect_to(upstream_);
  if (!server) return;
  request.insert(request.find("\r\n") + 2, "Connection: close\r\n");
  if (send_all(server.get(), request)) pass_on(server.get(), client.get(), request);
}

void Proxy::pass_on(int from, int to, const std::string& request) {
  std::size_t flip_at = 0, cut_at = 0;
  std::function<void()> then;
  {
    const std::lock_guard lock(mutex_);
    if (!flip_.empty() && request.find(flip_) != std::string::npos) flip_at = 1;
    if (!cut_.empty() && request.find(cut_) != std::string::npos) {
      cut_.clear();
      cut_at = cut_bytes_;
      then = then_;
    }
  }
  const std::string head = read_head(from);
  if (head.empty()) return;  // the registry has just been killed
  const std::size_t body_begins = head.find("\r\n\r\n") + 4;
  std::string piece = head.substr(body_begins);
  if (!send_all(to, head.substr(0, body_begins))) return;
  char buffer[16384];
  for (std::size_t passed = 0;;) {
    if (flip_at != 0 && passed + piece.size() > 100) {
      piece[100 - std::min<std::size_t>(passed, 100)] ^= 1;
      flip_at = 0;
    }
    if (cut_at != 0 && passed + piece.size() >= cut_at) {
      send_all(to, piece.substr(0, cut_at - passed));
      return then();
    }
    if (!send_all(to, piece)) return;
    passed += piece.size();
    const ssize_t got = read(from, buffer, sizeof(buffer));
    if (got <= 0) return;
    piece.assign(buffer, static_cast<std::size_t>(got));
  }
}

}  // namespace cove::image_tests
