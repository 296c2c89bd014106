#include "backend/local/local.h"

#include "backend/guest_path.h"
#include "backend/host_process.h"

namespace cove::local {
namespace {

Failure refuse(const std::string& option, const std::string& why) {
  return fail(Errc::unsupported, "the local backend cannot honour " + option + ": " + why +
                                     "; leave it out or choose a backend that isolates ('cove doctor' lists them)");
}

}  // namespace

Result<void> check(const SandboxSpec& spec) {
  if (!spec.image.empty()) return refuse("--image", "commands run on this machine's own files");
  if (!spec.net.empty() && spec.net != "host") return refuse("--net " + spec.net, "commands share the host's network");
  if (spec.cpus != 0) return refuse("--cpus", "it enforces no limits");
  if (spec.memory_bytes != 0) return refuse("--memory", "it enforces no limits");
  if (spec.pids != 0) return refuse("--pids", "it enforces no limits");
  if (spec.disk_bytes != 0) return refuse("--disk", "it enforces no limits");
  if (!spec.volumes.empty()) return refuse("--volume", "every directory of this machine is there already");
  return {};
}

Probe LocalBackend::probe(Deadline) {
  using enum Capability;
  Probe probe;
  const auto guest = find_guest();
  probe.usable = guest.has_value();
  if (!guest) probe.why_not = guest.error().message;
  probe.capabilities = {session, pty, files, forward, persistent, net_host};
  return probe;
}

Result<std::unique_ptr<Place>> LocalBackend::start(const SandboxSpec& spec, Deadline) {
  COVE_CHECK(check(spec));
  COVE_TRY(const std::string guest, find_guest());
  os::ExecSpec exec;
  exec.program = guest;
  for (const auto& [key, value] : spec.env) exec.env.push_back(key + "=" + value);
  exec.cwd = start_directory(spec, os::find_env(exec.env, "HOME"));
  // Only a directory that was asked for must be there; a home that is gone must not lock its user out.
  exec.nearest_cwd = spec.cwd.empty();
  COVE_TRY(HostProcess place, HostProcess::start(std::move(exec), "local"));
  return std::make_unique<HostProcess>(std::move(place));
}

}  // namespace cove::local
