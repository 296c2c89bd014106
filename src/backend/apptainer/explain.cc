#include "backend/apptainer/explain.h"

#include <algorithm>

#include "backend/engine/meaning.h"

namespace cove::apptainer {
namespace {

const std::vector<engine::Meaning>& meanings() {
  static const std::vector<engine::Meaning> all{
      {{"no instance found"}, Errc::not_found, "the instance is not there any more"},
      {{"already exists"}, Errc::conflict, "an instance of that name is there already: 'apptainer instance stop' it"},
      {{"no space left on device", "disk quota exceeded"},
       Errc::busy,
       "the disk of the scratch directory is full: COVE_SCRATCH_DIR names another one, 'apptainer cache clean' makes "
       "room"},
      {{"cannot allocate memory", "resource temporarily unavailable", "too many open files"},
       Errc::busy,
       "this machine has no room for another instance: end some, or try later"},
      {{"toomanyrequests", "rate limit"}, Errc::busy, "the registry refuses more pulls for now: log in, or try later"},
      {{"unauthorized", "authentication required", "access to the resource is denied", "invalid username/password"},
       Errc::denied,
       "the registry does not give this image to us: look at its name, or log in ('apptainer registry login')"},
      {{"manifest unknown", "name unknown", "requested image is not found"},
       Errc::not_found,
       "the registry has no such image: look at its name"},
      {{"no such host", "connection refused", "connection reset by peer", "i/o timeout", "tls handshake timeout",
        "no route to host", "network is unreachable", "server gave http response"},
       Errc::disconnected,
       "the registry cannot be reached: look at the network, or give a .sif file or a directory"},
      {{"could not open image", "image format not recognized", "unable to open file"},
       Errc::not_found,
       "there is no image that it can read: give a .sif file or a directory with a root file system"},
      {{"mksquashfs", "unsquashfs"},
       Errc::unsupported,
       "images are packed and unpacked with squashfs-tools: install them, or give a directory as the image"},
      {{"squashfuse", "/dev/fuse", "fusermount"},
       Errc::unsupported,
       "a .sif file is mounted with squashfuse where there is no setuid installation: install it, or give a directory"},
      {{"user namespace", "max_user_namespaces", "userns"},
       Errc::unsupported,
       "this machine gives its users no namespaces: it takes the sysctl user.max_user_namespaces, or a setuid "
       "installation of apptainer"},
      {{"cgroup"},
       Errc::unsupported,
       "limits take control groups that are delegated to this user: leave --cpus, --memory and --pids out"},
  };
  return all;
}

// What it says is wrong: the last line that says so, without colours.
std::string essence(const std::string& text) {
  std::string best;
  for (const std::string& line : engine::lines_of(text)) {
    if (line.find("INFO:") == std::string::npos || best.empty()) best = line;
  }
  for (const std::string_view mark : {"FATAL:", "ERROR:", "WARNING:"}) {
    if (const std::size_t at = best.find(mark); at != std::string::npos) best.erase(0, at + mark.size());
  }
  best.erase(0, std::min(best.find_first_not_of(' '), best.size()));
  return engine::quotable(std::move(best));
}

}  // namespace

Error explain(const std::string& doing, const engine::Said& said) {
  const std::string why = essence(said.err.empty() ? said.out : said.err);
  if (const engine::Meaning* meant = engine::find_meaning(meanings(), said))
    return {meant->code, doing + ": " + std::string(meant->says) + " (" + why + ")"};
  return {Errc::unsupported, doing + ": " + (why.empty() ? "it ended with " + std::to_string(said.code) : why)};
}

}  // namespace cove::apptainer
