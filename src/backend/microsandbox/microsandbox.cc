#include "backend/microsandbox/microsandbox.h"

#include <unistd.h>

#include "backend/engine/names.h"
#include "backend/guest_path.h"
#include "backend/microsandbox/place.h"
#include "backend/microvm/accel.h"
#include "record/record.h"

namespace cove::microsandbox {
namespace {

Result<void> kvm_runs() {
  const std::string why = microvm::why_no_kvm();
  if (why.empty()) return {};
  return fail(Errc::unsupported, "msb needs KVM, which does not run guests here (" + why +
                                     "): use --backend microvm, which can do without, or native");
}

}  // namespace

Result<std::unique_ptr<Place>> MicrosandboxBackend::start(const SandboxSpec& spec, Deadline) {
  COVE_TRY(Msb msb, Msb::find());
  COVE_CHECK(kvm_runs());
  return MicrosandboxPlace::start(std::move(msb), spec);
}

Probe MicrosandboxBackend::probe(Deadline) {
  using enum Capability;
  Probe probe;
  const auto msb = Msb::find();
  const auto version = msb ? msb->version() : Result<std::string>(fail(msb.error()));
  const auto takes = version ? msb->takes() : Result<Takes>(fail(version.error()));
  if (const auto kvm = kvm_runs(); !kvm) probe.why_not = kvm.error().message;
  if (!takes) probe.why_not = takes.error().message;
  if (const auto guest = find_guest(); !guest) probe.why_not = guest.error().message;
  probe.usable = probe.why_not.empty();
  if (version) probe.version = "msb " + *version;
  if (!probe.usable) return probe;
  probe.capabilities = {session,
                        pty,
                        files,
                        forward,
                        volumes,
                        persistent,
                        net_full,
                        fs_read,
                        fs_write,
                        net,
                        pid,
                        {limit_memory, "vm"},
                        {limit_cpus, "vm"},
                        memory};
  if (!takes->no_net.empty()) probe.capabilities.add(net_none);
  return probe;
}

Result<void> MicrosandboxBackend::forget(const SandboxSpec& spec, Deadline) {
  if (access((spec.directory + "/" + record::kKeptOutside).c_str(), F_OK) != 0) return {};
  COVE_TRY(const Msb msb, Msb::find());
  return msb.remove(engine::container_name(engine::home_of(spec.directory), spec.name));
}

Result<std::vector<Leftover>> MicrosandboxBackend::leftovers(const std::string& home, const Alive& alive,
                                                             Deadline deadline) {
  std::vector<Leftover> found;
  const auto msb = Msb::find();
  if (!msb) return found;
  const auto listed = msb->ask({"ls", "--quiet"}, deadline);
  const std::string prefix = engine::container_prefix(home);
  for (const std::string& name : engine::lines_of(listed.value_or(""))) {
    if (!name.starts_with(prefix)) continue;
    const std::string sandbox = name.substr(prefix.size());
    const bool kept = access((home + "/sandboxes/" + sandbox + "/" + record::kKeptOutside).c_str(), F_OK) == 0;
    if (!kept && !alive(sandbox)) found.push_back({"microVM", sandbox});
  }
  return found;
}

Result<void> MicrosandboxBackend::clear(const std::string& home, const Leftover& leftover, Deadline) {
  if (leftover.kind != "microVM") return {};
  COVE_TRY(const Msb msb, Msb::find());
  return msb.remove(engine::container_name(home, leftover.name));
}

}  // namespace cove::microsandbox
