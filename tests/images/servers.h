#pragma once

// The real docker-registry, and what stands between it and a client: both on loopback, both gone with their objects.

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "os/child.h"

namespace cove::image_tests {

std::string free_port();

// docker-registry, with its configuration and log in `folder`; several may serve one storage.
class RegistryServer {
 public:
  // `more` is appended to its configuration, in which `http:` is the last section: tls, auth.
  RegistryServer(const std::string& folder, const std::string& storage, const std::string& more = "");
  ~RegistryServer() { kill(); }
  RegistryServer(const RegistryServer&) = delete;
  RegistryServer& operator=(const RegistryServer&) = delete;

  void start();  // until it takes connections
  void kill();   // SIGKILL
  const std::string& port() const { return port_; }
  std::string host() const { return "127.0.0.1:" + port_; }

 private:
  std::string folder_, port_;
  std::optional<os::Child> child_;
};

// Passes requests on, one per connection, and keeps their heads.
class Proxy {
 public:
  explicit Proxy(std::string upstream_port);
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  std::string host() const { return "127.0.0.1:" + port_; }
  // Of the answer to a request that contains `what`: one byte of the body is another one.
  void flip_in(const std::string& what);
  // Of the first answer to a request that contains `what`: so many bytes of the body pass, then `then` is called, and
  // the connection is cut.
  void cut_in(const std::string& what, std::size_t bytes, std::function<void()> then);

  std::vector<std::string> requests() const;
  // How many begin with `method` and contain `what`.
  std::size_t count(const std::string& method, const std::string& what) const;
  void forget();

 private:
  void serve();
  void talk(UniqueFd client);
  void pass_on(int from, int to, const std::string& request);

  std::string upstream_, port_;
  UniqueFd listener_, over_;
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;
  std::string flip_, cut_;
  std::size_t cut_bytes_ = 0;
  std::function<void()> then_;
  std::vector<std::thread> talks_;
  std::thread thread_;
};

}  // namespace cove::image_tests
