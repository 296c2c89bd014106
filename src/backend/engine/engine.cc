#include "backend/engine/engine.h"

#include <unistd.h>

#include "backend/engine/names.h"
#include "backend/engine/place.h"
#include "backend/guest_path.h"

namespace cove::engine {

Result<std::unique_ptr<Place>> EngineBackend::start(const SandboxSpec& spec, Deadline deadline) {
  COVE_TRY(const Program program, Program::find(kind_, spec.engine));
  COVE_TRY(const Facts facts, find_facts(program, home_of(spec.directory), call_deadline()));
  COVE_TRY(Container container, Container::plan(spec, program, facts));
  return EnginePlace::start(std::move(container), spec, deadline);
}

Result<void> EngineBackend::forget(const SandboxSpec& spec, Deadline) {
  if (!has_mark(spec)) return {};
  COVE_TRY(const Program program, Program::find(kind_, spec.engine));
  return Container(program, home_of(spec.directory), spec.name).remove(call_deadline());
}

Probe EngineBackend::probe(Deadline deadline) {
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
  probe.capabilities = {"session",          "pty",     "files",    "forward", "volumes", "net:none",    "net:host",
                        "net:full,private", "fs-read", "fs-write", "net",     "pid",     "image:engine"};
  if (facts->local) probe.capabilities.emplace_back("persistent");
  for (const auto& [name, enforced] :
       {std::pair<std::string, bool>{"memory", facts->memory}, {"cpus", facts->cpus}, {"pids", facts->pids}}) {
    if (enforced) probe.capabilities.push_back("limit:" + name + "=" + kind_);
  }
  if (facts->memory) probe.capabilities.emplace_back("memory");
  for (const std::string& runtime : facts->runtimes) {
    if (runtime == "runsc") probe.capabilities.emplace_back("runtime:runsc");
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
    for (std::size_t begin = 0; begin < listed->size();) {
      const std::size_t end = std::min(listed->find('\n', begin), listed->size());
      const std::string name = listed->substr(begin, end - begin);
      begin = end + 1;
      if (!name.starts_with(prefix)) continue;
      const std::string sandbox = name.substr(prefix.size());
      const bool kept = access((home + "/sandboxes/" + sandbox + "/" + kKeptOutside).c_str(), F_OK) == 0;
      if (!kept && !alive(sandbox)) found.push_back({"container", sandbox});
    }
  }
  return found;
}

Result<void> EngineBackend::clear(const std::string& home, const Leftover& leftover, Deadline) {
  if (leftover.kind != "container") return {};
  for (const Program& program : used_engines(kind_, home))
    COVE_CHECK(Container(program, home, leftover.name).remove(call_deadline()));
  return {};
}

}  // namespace cove::engine
