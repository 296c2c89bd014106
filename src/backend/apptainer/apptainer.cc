#include "backend/apptainer/apptainer.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace cove::apptainer {
namespace {

std::string find_program() {
  const char* path = std::getenv("PATH");
  const std::string all = std::string(path == nullptr ? "" : path) + ":/usr/local/bin:/usr/bin";
  for (const char* name : {"/apptainer", "/singularity"}) {
    for (std::size_t at = 0; at <= all.size();) {
      const std::size_t end = std::min(all.find(':', at), all.size());
      const std::string candidate = all.substr(at, end - at) + name;
      if (candidate.starts_with('/') && access(candidate.c_str(), X_OK) == 0) return candidate;
      at = end + 1;
    }
  }
  return "";
}

}  // namespace

Probe ApptainerBackend::probe(Deadline) {
  Probe probe;
  const std::string program = find_program();
  probe.why_not = program.empty()
                      ? "neither apptainer nor singularity is installed (it is not in Debian 12: see apptainer.org)"
                      : program +
                            " is here, but this version of Cove does not start sandboxes with it yet: use "
                            "--backend native or gvisor";
  return probe;
}

Result<std::unique_ptr<Place>> ApptainerBackend::start(const SandboxSpec&, Deadline deadline) {
  return fail(Errc::unsupported, "backend apptainer: " + probe(deadline).why_not);
}

}  // namespace cove::apptainer
