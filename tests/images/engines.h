#pragma once

// Other engines, each with a storage of its own, gone with its object.

#include <string>
#include <vector>

#include "helpers/program.h"

namespace cove::image_tests {

struct Ran {
  int code = -1;
  std::string text;  // stdout and stderr
};
// A line for bash.
Ran shell(const std::string& line);
// Why a test cannot run here; "" if these programs are all there.
std::string missing(const std::vector<std::string>& programs);

// Asked to end, it ends its containerd as well; killed, it would leave that behind.
class Dockerd {
 public:
  explicit Dockerd(const std::string& folder);
  ~Dockerd();
  Dockerd(const Dockerd&) = delete;
  Dockerd& operator=(const Dockerd&) = delete;

  bool ready();
  std::string words() const { return running_ ? running_->heard : running_.error().text(); }
  const std::string& socket() const { return socket_; }
  // docker with these words.
  Ran docker(const std::string& words) const { return shell("docker -H " + socket_ + " " + words); }

 private:
  std::string socket_;
  Result<testing_helpers::Running> running_;
};

// By environment alone: that is how others find its storage, too.
class Podman {
 public:
  explicit Podman(const std::string& folder);
  ~Podman();
  Podman(const Podman&) = delete;
  Podman& operator=(const Podman&) = delete;

  const std::vector<std::string>& env() const { return env_; }
  Ran podman(const std::string& words) const { return shell(env_[0] + " " + env_[1] + " podman " + words); }

 private:
  std::vector<std::string> env_;
};

}  // namespace cove::image_tests
