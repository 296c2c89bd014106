// Unix sockets of the host, by path and by abstract name.

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "record/home.h"
#include "selftest/stage.h"

namespace cove::selftest {
namespace {

constexpr std::string_view kSocketsGroup = "reach host sockets";

Verdict reach(Stage& stage, const std::string& path) {
  auto listener = Listener::unix_at(path);
  if (!listener) return not_applicable("no socket can be made at " + path);
  const Ran ran = stage.act({"unix_socket", path});
  return judge_outside(ran, listener->visited(), "connected to the host's " + path);
}

Verdict abstract(Stage& stage) { return reach(stage, "@cove-selftest-" + stage.bait().token()); }
Verdict by_path(Stage& stage) { return reach(stage, stage.bait().own() + "/socket"); }

// Somebody on the host hands out an open file to whoever connects.
Verdict gift(Stage& stage) {
  const std::string path = "@cove-selftest-gift-" + stage.bait().token();
  auto listener = Listener::unix_at(path);
  const UniqueFd file(open((stage.bait().own() + "/secret").c_str(), O_RDONLY | O_CLOEXEC));
  if (!listener || !file) return not_applicable("no socket can be made at " + path);
  Ran ran;
  {
    std::jthread giver([&](const std::stop_token& stop) {
      while (!stop.stop_requested() && !listener->hand_out(file.get(), std::chrono::milliseconds(50))) {}
    });
    ran = stage.act({"take_gift", path});
  }
  return judge_secret(ran, stage.bait().secret());
}

// Whoever speaks to the keeper governs the sandbox.
Verdict keeper(Stage& stage) {
  const auto home = record::home();
  auto place = stage.inside();
  if (!home || !place) return broken("could not be tried: no record");
  std::vector<std::string> words{"unix_socket"};
  std::error_code ignored;
  const std::string directory = *home + "/sandboxes/" + (*place)->sandbox().name();
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
    if (entry.is_socket(ignored)) words.push_back(entry.path());
  }
  if (words.size() == 1) return broken("could not be tried: no socket in " + directory);
  return stage.tried(words);
}

// Those that give away the machine, where they exist.
Verdict services(Stage& stage) {
  std::vector<std::string> words{"unix_socket"};
  for (const char* path : {"/run/docker.sock", "/var/run/docker.sock", "/run/podman/podman.sock",
                           "/run/containerd/containerd.sock", "/run/crio/crio.sock", "/run/dbus/system_bus_socket",
                           "/run/systemd/private", "/run/systemd/journal/socket", "/run/snapd.socket"}) {
    struct stat info{};
    if (stat(path, &info) == 0 && S_ISSOCK(info.st_mode)) words.emplace_back(path);
  }
  for (const char* variable : {"SSH_AUTH_SOCK", "DOCKER_HOST"}) {
    const char* value = std::getenv(variable);
    std::string path = value != nullptr ? value : "";
    if (path.starts_with("unix://")) path = path.substr(7);
    if (path.starts_with('/')) words.push_back(path);
  }
  if (words.size() == 1) return not_applicable("no such service runs on the host");
  return stage.tried(words);
}

Verdict see_sockets(Stage& stage) {
  const std::string path = "@cove-selftest-seen-" + stage.bait().token();
  auto listener = Listener::unix_at(path);
  if (!listener) return not_applicable("no socket can be made at " + path);
  const Ran ran = stage.shell("cat /proc/net/unix");
  return judge_outside(ran, ran.output.find(path) != std::string::npos, "the host's sockets can be seen");
}

constexpr Attempt kSocketsAttempts[] = {
    {"abstract_socket", kSocketsGroup, "connect to an abstract socket of the host", {}, abstract},
    {"path_socket", kSocketsGroup, "connect to a socket in a directory of the host", {}, by_path},
    {"passed_descriptor", kSocketsGroup, "be handed a descriptor by a process of the host", {}, gift},
    {"keeper_socket", kSocketsGroup, "connect to the keeper", {}, keeper},
    {"service_sockets", kSocketsGroup, "connect to docker, dbus, the ssh agent", {}, services},
    {"see_host_sockets", kSocketsGroup, "list the host's sockets", {}, see_sockets},
};

}  // namespace

std::span<const Attempt> socket_attempts() { return kSocketsAttempts; }

}  // namespace cove::selftest
