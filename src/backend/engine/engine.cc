#include "backend/engine/engine.h"

#include <unistd.h>

#include <cstring>

#include "backend/engine/names.h"
#include "backend/engine/place.h"
#include "backend/guest_path.h"
#include "record/record.h"

namespace cove::engine {

Result<std::unique_ptr<Place>> EngineBackend::start(const SandboxSpec& spec, Deadline deadline) {
  COVE_TRY(const Program program, Program::find(kind_, std::string(spec.option("engine"))));
  COVE_TRY(const Facts facts, find_facts(program, home_of(spec.directory), call_deadline()));
  COVE_TRY(Container container, Container::plan(spec, program, facts));
  return EnginePlace::start(std::move(container), spec, deadline);
}

Result<void> EngineBackend::forget(const SandboxSpec& spec, Deadline) {
  if (!has_mark(spec) && spec.layers.empty()) return {};
  COVE_TRY(const Program program, Program::find(kind_, std::string(spec.option("engine"))));
  const std::string home = home_of(spec.directory);
  if (!spec.layers.empty()) {
    COVE_TRY(const auto old, find_old_layers(program, home, call_deadline()));
    for (const std::string& id : old) COVE_CHECK(remove_layer(program, id, call_deadline()));
  }
  if (!has_mark(spec)) return {};
  return Container(program, home, spec.name).remove(call_deadline());
}

Probe EngineBackend::probe(Deadline deadline) {
  using enum Capability;
  Probe probe;
  const auto guest = find_guest();
  const char* wanted = std::getenv("COVE_ENGINE");
  const auto program = Program::find(kind_, wanted != nullptr ? wanted : "");
  const auto facts = program ? find_facts(*program, "", deadline) : Result<Facts>(fail(program.error()));
  if (!guest) probe.why_not = guest.error().message;
  if (!facts) probe.why_not = facts.error().message;
  probe.usable = probe.why_not.empty();
  if (!probe.usable) return probe;
  probe.version = (facts->podman ? "podman " : "docker ") + facts->version;
  if (!facts->local) probe.version += ", elsewhere";
  if (facts->rootless) probe.version += ", rootless";
  probe.capabilities = {session,          pty,     files,    forward, volumes, net_none,    net_host, snapshot,
                        net_full_private, fs_read, fs_write, net,     pid,     image_engine};
  if (facts->local) probe.capabilities.add(persistent);
  for (const auto& [limit, enforced] :
       {std::pair{limit_memory, facts->memory}, {limit_cpus, facts->cpus}, {limit_pids, facts->pids}}) {
    if (enforced) probe.capabilities.add({limit, kind_});
  }
  if (facts->memory) probe.capabilities.add(memory);
  for (const std::string& runtime : facts->runtimes) {
    if (runtime == "runsc") probe.capabilities.add({Capability::runtime, "runsc"});
  }
  return probe;
}

// A stopped persistent sandbox keeps its container; its record says so.
Result<std::vector<Leftover>> EngineBackend::leftovers(const std::string& home, const Alive& alive, Deadline deadline) {
  std::vector<Leftover> found;
  const std::string prefix = container_prefix(home);
  for (const Program& program : used_engines(kind_, home)) {
    const auto listed =
        program.ask({"ps", "--all", "--filter", std::string("label=") + kHomeLabel + "=" + hash_text(home), "--format",
                     "{{.Names}}"},
                    deadline);
    if (!listed) continue;  // an engine that does not run holds nothing that runs
    for (const std::string& name : lines_of(*listed)) {
      if (!name.starts_with(prefix)) continue;
      const std::string sandbox = name.substr(prefix.size());
      const bool copy = sandbox.ends_with(kCopySuffix);
      if (copy && alive(sandbox.substr(0, sandbox.size() - std::strlen(kCopySuffix)))) continue;
      const bool kept = access((home + "/sandboxes/" + sandbox + "/" + record::kKeptOutside).c_str(), F_OK) == 0;
      if (!kept && !alive(sandbox)) found.push_back({"container", sandbox});
    }
    const auto old = find_old_layers(program, home, deadline);
    for (const std::string& id : old.value_or(std::vector<std::string>())) found.push_back({"image", id});
  }
  return found;
}

Result<void> EngineBackend::clear(const std::string& home, const Leftover& leftover, Deadline) {
  if (leftover.kind != "container" && leftover.kind != "image") return {};
  for (const Program& program : used_engines(kind_, home)) {
    const auto gone = leftover.kind == "image" ? remove_layer(program, leftover.name, call_deadline())
                                               : Container(program, home, leftover.name).remove(call_deadline());
    if (!gone && gone.error().code != Errc::disconnected) return gone;
  }
  return {};
}

}  // namespace cove::engine
