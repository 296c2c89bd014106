#include "engines.h"

#include <csignal>
#include <filesystem>
#include <fstream>

namespace cove::image_tests {

Ran shell(const std::string& line) {
  auto running = testing_helpers::start_program({"/bin/bash", "-c", line});
  if (!running) return {-1, running.error().text()};
  const int code = running->finish();
  return {code, running->heard};
}

std::string missing(const std::vector<std::string>& programs) {
  std::string text;
  for (const std::string& program : programs) {
    if (shell("command -v " + program).code != 0) text += (text.empty() ? "not installed here: " : ", ") + program;
  }
  return text;
}

Dockerd::Dockerd(const std::string& folder)
    : socket_("unix://" + folder + "/docker.sock"),
      running_(testing_helpers::start_program(
          {"/usr/bin/env", "dockerd", "--data-root", folder + "/docker", "--exec-root", folder + "/exec", "--pidfile",
           folder + "/docker.pid", "-H", socket_, "--storage-driver", "vfs", "--iptables=false", "--bridge=none"})) {}

Dockerd::~Dockerd() {
  if (!running_) return;
  (void)running_->child.signal(SIGTERM);
  (void)running_->finish();
}

bool Dockerd::ready() { return running_ && running_->says("API listen on"); }

Podman::Podman(const std::string& folder)
    : env_{"CONTAINERS_STORAGE_CONF=" + folder + "/storage.conf", "CONTAINERS_CONF=" + folder + "/containers.conf"} {
  std::ofstream(folder + "/storage.conf")
      << "[storage]\ndriver = \"vfs\"\ngraphroot = \"" + folder + "/graph\"\nrunroot = \"" + folder + "/run\"\n";
  std::ofstream(folder + "/containers.conf")
      << "[engine]\nruntime = \"runc\"\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"none\"\n";
}

Podman::~Podman() { podman("image umount --all"); }

}  // namespace cove::image_tests
