#include "backend/engine/explain.h"

#include <algorithm>

#include "backend/engine/meaning.h"

namespace cove::engine {
namespace {

// `ENGINE` stands for its name.
const std::vector<Meaning>& meanings() {
  static const std::vector<Meaning> all{
      {{"permission denied while trying to connect", "dial unix /var/run/docker.sock: connect: permission denied"},
       Errc::denied,
       "this user may not talk to ENGINE's daemon: join its group, run as root, or use a rootless engine"},
      {{"cannot connect to the docker daemon", "is the docker daemon running", "connect to the docker daemon",
        "cannot connect to podman", "unable to connect to podman", "error during connect",
        "failed to connect to the docker api"},
       Errc::disconnected,
       "ENGINE's daemon does not answer: start it ('systemctl start docker'), or look at DOCKER_HOST and "
       "'docker context ls'"},
      {{"no space left on device", "disk quota exceeded"},
       Errc::busy,
       "the disk that ENGINE keeps its files on is full: 'ENGINE system df' shows by what, 'cove gc' removes what we "
       "left"},
      {{"cannot allocate memory", "resource temporarily unavailable", "too many open files"},
       Errc::busy,
       "this machine has no room for another container: end some, or try later"},
      {{"toomanyrequests", "rate limit"}, Errc::busy, "the registry refuses more pulls for now: log in, or try later"},
      {{"pull access denied", "unauthorized", "authentication required", "requested access to the resource is denied",
        "no basic auth credentials"},
       Errc::denied,
       "the registry does not give this image to us: look at its name, or log in ('ENGINE login')"},
      {{"no such host", "connection refused", "connection reset by peer", "i/o timeout", "tls handshake timeout",
        "no route to host", "network is unreachable", "client.timeout exceeded", "server misbehaving"},
       Errc::disconnected,
       "the registry cannot be reached: look at the network, or load the image by hand ('ENGINE load')"},
      {{"no such image", "unable to find image", "image not known", "manifest unknown", "not found: manifest",
        "name unknown", "did not resolve to an alias"},
       Errc::not_found,
       "there is no such image: 'ENGINE images' lists those that are here; --pull missing fetches others"},
      {{"invalid reference format", "repository name must be", "parsing reference"},
       Errc::invalid,
       "that is not the name of an image"},
      {{"is already in use by container", "the container name", "is already in use by"},
       Errc::conflict,
       "a container of that name is there already: 'ENGINE rm' it, or choose another name"},
      {{"no such container", "no container with name or id", "no such object"},
       Errc::not_found,
       "the container is not there any more"},
      {{"storage-opt", "pquota", "storage option", "size is not supported"},
       Errc::unsupported,
       "--disk: ENGINE's storage cannot hold a container to a size (that takes overlay2 on xfs with pquota, btrfs or "
       "zfs): leave it out, or use --backend native"},
      {{"unknown or invalid runtime", "unknown runtime specified", "invalid runtime name", "could not find runtime",
        "default oci runtime"},
       Errc::unsupported,
       "--runtime: ENGINE does not know it: 'ENGINE info' lists its runtimes, daemon.json or containers.conf adds one"},
      {{"newuidmap", "subuid", "no subuid ranges", "potentially insufficient uids"},
       Errc::unsupported,
       "this user has no ranges of ids for a rootless engine: 'usermod --add-subuids 100000-165535 --add-subgids "
       "100000-165535 USER', then 'podman system migrate'"},
      {{"cgroup is not mounted", "controller is not available", "cgroup controllers", "not delegated",
        "cgroup v2 manager", "limitation discarded", "does not support memory limit",
        "resource limits are not supported", "cannot set limits without cgroup"},
       Errc::unsupported,
       "ENGINE cannot enforce limits here (a rootless engine needs delegated controllers: 'systemctl edit "
       "user@.service', "
       "Delegate=yes): leave --cpus, --memory and --pids out"},
      {{"container-init binary not found"},
       Errc::unsupported,
       "ENGINE has no init for its containers: install catatonit"},
      {{"error setting rlimit", "setting rlimits"},
       Errc::unsupported,
       "ENGINE may not give a container the limits it wants to: set default_ulimits in containers.conf to what this "
       "process has ('ulimit -Ha')"},
  };
  return all;
}

std::string with_name(std::string_view text, const std::string& name) {
  std::string out;
  while (true) {
    const std::size_t at = text.find("ENGINE");
    out += text.substr(0, at);
    if (at == std::string_view::npos) return out;
    out += name;
    text.remove_prefix(at + 6);
  }
}

// The last line that is no advice: what the engine itself says is wrong.
std::string essence(const std::string& text) {
  std::string line, best;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.empty() || line.starts_with("See 'docker") || line.starts_with("Run 'docker")) continue;
    best = line;
  }
  for (const std::string_view prefix : {"docker: ", "podman: ", "Error: ", "Error response from daemon: "}) {
    if (best.starts_with(prefix)) best.erase(0, prefix.size());
  }
  return quotable(std::move(best));
}

}  // namespace

Error explain(const Program& program, const std::vector<std::string>& args, const Said& said) {
  const std::string why = essence(said.err.empty() ? said.out : said.err);
  const std::string what = program.kind() + " " + (args.empty() ? "" : args[0]) + ": ";
  if (const Meaning* meant = find_meaning(meanings(), said))
    return {meant->code, what + with_name(meant->says, program.kind()) + " (" + why + ")"};
  return {Errc::unsupported, what + (why.empty() ? "it ended with " + std::to_string(said.code) : why)};
}

}  // namespace cove::engine
