#include "backend/engine/facts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "backend/engine/explain.h"
#include "backend/engine/names.h"

namespace cove::engine {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

// What an engine says is not ours to trust: every look at it has a type and a fallback.
const Json& at(const Json& object, const char* key) {
  static const Json none;
  if (!object.is_object()) return none;
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}
std::string text(const Json& object, const char* key) {
  const Json& value = at(object, key);
  return value.is_string() ? value.get<std::string>() : "";
}
bool truth(const Json& object, const char* key) {
  const Json& value = at(object, key);
  return value.is_boolean() && value.get<bool>();
}
std::vector<std::string> texts(const Json& list) {
  std::vector<std::string> all;
  if (!list.is_array()) return all;
  for (const Json& item : list) {
    if (item.is_string()) all.push_back(item.get<std::string>());
  }
  return all;
}
bool has(const std::vector<std::string>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

std::string kernel() {
  utsname name{};
  return uname(&name) == 0 ? name.release : "";
}

// The daemon that the client talks to, by its own account.
Result<std::string> docker_host(const Program& program, const Json& info, Deadline deadline) {
  if (std::string host = program.value("DOCKER_HOST"); !host.empty()) return host;
  const std::string context = text(at(info, "ClientInfo"), "Context");
  if (context.empty() || context == "default") return std::string("unix:///var/run/docker.sock");
  return program.ask({"context", "inspect", "--format", "{{.Endpoints.docker.Host}}"}, deadline);
}

Result<Facts> of_docker(const Program& program, const Json& info, Deadline deadline) {
  Facts facts;
  facts.version = text(info, "ServerVersion");
  facts.driver = text(info, "Driver");
  facts.runtime = text(info, "DefaultRuntime");
  if (const Json& all = at(info, "Runtimes"); all.is_object()) {
    for (const auto& [name, about] : all.items()) facts.runtimes.push_back(name);
  }
  facts.memory = truth(info, "MemoryLimit");
  facts.cpus = truth(info, "CpuCfsQuota") || truth(info, "CPUCfsQuota");
  facts.pids = truth(info, "PidsLimit");
  for (const std::string& option : texts(at(info, "SecurityOptions"))) {
    facts.rootless = facts.rootless || option.starts_with("name=rootless");
    facts.remapped = facts.remapped || option.starts_with("name=userns");
  }
  COVE_TRY(const std::string host, docker_host(program, info, deadline));
  // A daemon in a virtual machine of its own has a socket here, too, but not our kernel.
  facts.local = host.starts_with("unix://") && text(info, "KernelVersion") == kernel();
  return facts;
}

// How many ids there are inside.
std::uint64_t mapped_ids(const Json& host) {
  std::uint64_t all = 0;
  for (const Json& range : at(at(host, "idMappings"), "uidmap")) {
    if (at(range, "size").is_number_unsigned()) all += at(range, "size").get<std::uint64_t>();
  }
  return all;
}

Result<Facts> of_podman(const Program& program, const Json& info) {
  const Json& host = at(info, "host");
  Facts facts;
  facts.podman = true;
  facts.version = text(at(info, "version"), "Version");
  facts.driver = text(at(info, "store"), "graphDriverName");
  facts.runtime = text(at(host, "ociRuntime"), "name");
  facts.runtimes = {facts.runtime};
  facts.rootless = truth(at(host, "security"), "rootless");
  // It would go on with one id alone, with which hardly an image can be unpacked.
  if (facts.rootless && mapped_ids(host) == 1)
    return fail(
        explain(program, {"info"}, {0, "", "there are no subuid ranges for user " + std::to_string(geteuid())}));
  const auto controllers = texts(at(host, "cgroupControllers"));
  // Without root, v1 hierarchies cannot be written whatever they offer.
  const bool writable = !facts.rootless || text(host, "cgroupVersion") == "v2";
  facts.memory = writable && has(controllers, "memory");
  facts.cpus = writable && has(controllers, "cpu");
  facts.pids = writable && has(controllers, "pids");
  facts.local =
      !truth(host, "serviceIsRemote") && program.value("CONTAINER_HOST").empty() && text(host, "kernel") == kernel();
  return facts;
}

Result<Facts> ask(const Program& program, Deadline deadline) {
  const std::vector<std::string> args{"info", "--format", "{{json .}}"};
  COVE_TRY(Said said, program.run(args, deadline));
  const Json info = Json::parse(said.out, nullptr, false);
  if (const auto errors = texts(at(info, "ServerErrors")); !errors.empty()) {
    said.err += errors[0];
    return fail(explain(program, args, said));
  }
  if (said.code != 0) return fail(explain(program, args, said));
  if (at(info, "host").is_object()) return of_podman(program, info);
  if (text(info, "ServerVersion").empty())
    return fail(
        Errc::unsupported,
        program.path() + " does not answer as docker or podman do: name the engine's program with --engine PATH");
  return of_docker(program, info, deadline);
}

std::string stamp(const Program& program) {
  struct stat info{};
  if (stat(program.path().c_str(), &info) < 0) return "";
  return std::to_string(info.st_mtim.tv_sec) + "." + std::to_string(info.st_mtim.tv_nsec) + "." + kernel();
}

std::string key(const Program& program) {
  std::string all = program.kind() + "\n" + program.path() + "\n" + std::to_string(geteuid());
  for (const std::string& entry : program.address()) all += "\n" + entry;
  return all;
}

std::string cache_path(const Program& program, const std::string& home) {
  return home + "/cache/engine-" + hash_text(key(program)) + ".json";
}

Json read_cache(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  std::string bytes(64 << 10, '\0');
  const ssize_t n = file ? read(file.get(), bytes.data(), bytes.size()) : -1;
  return n > 0 ? Json::parse(bytes.substr(0, static_cast<std::size_t>(n)), nullptr, false) : Json();
}

Facts facts_of(const Json& kept) {
  Facts facts{.podman = truth(kept, "podman"),
              .local = truth(kept, "local"),
              .rootless = truth(kept, "rootless"),
              .remapped = truth(kept, "remapped"),
              .memory = truth(kept, "memory"),
              .cpus = truth(kept, "cpus"),
              .pids = truth(kept, "pids"),
              .version = text(kept, "version"),
              .driver = text(kept, "driver"),
              .runtime = text(kept, "runtime"),
              .runtimes = texts(at(kept, "runtimes"))};
  return facts;
}

// Best effort: without it the engine is asked again.
void keep(const Program& program, const Facts& facts, const std::string& home) {
  mkdir((home + "/cache").c_str(), 0700);
  const std::string path = cache_path(program, home), aside = path + "." + std::to_string(getpid());
  const std::string bytes =
      Json{{"stamp", stamp(program)},      {"kind", program.kind()},     {"path", program.path()},
           {"address", program.address()}, {"podman", facts.podman},     {"local", facts.local},
           {"rootless", facts.rootless},   {"remapped", facts.remapped}, {"memory", facts.memory},
           {"cpus", facts.cpus},           {"pids", facts.pids},         {"version", facts.version},
           {"driver", facts.driver},       {"runtime", facts.runtime},   {"runtimes", facts.runtimes}}
          .dump(-1, ' ', false, Json::error_handler_t::replace);
  const UniqueFd file(open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  const bool written = file && write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  if (!written || rename(aside.c_str(), path.c_str()) < 0) unlink(aside.c_str());
}

}  // namespace

bool Facts::reaches(const std::string& wanted_runtime) const {
  const std::string& runs = wanted_runtime.empty() ? runtime : wanted_runtime;
  const bool shares_kernel = runs == "runc" || runs == "crun" || runs == "youki" || runs == "io.containerd.runc.v2";
  // The guest answers its own user and root: who we are to it is what the user namespace makes of us.
  return local && shares_kernel && !remapped && (geteuid() == 0) != rootless;
}

Result<Facts> find_facts(const Program& program, const std::string& home, Deadline deadline) {
  if (!home.empty()) {
    const Json kept = read_cache(cache_path(program, home));
    if (kept.is_object() && text(kept, "stamp") == stamp(program)) return facts_of(kept);
  }
  COVE_TRY(Facts facts, ask(program, deadline));
  if (!home.empty()) keep(program, facts, home);
  return facts;
}

// Not the file: it also says that this engine has been used.
void forget_facts(const Program& program, const std::string& home) {
  const std::string path = cache_path(program, home);
  Json kept = read_cache(path);
  if (!kept.is_object()) return;
  kept["stamp"] = "";
  const std::string bytes = kept.dump(-1, ' ', false, Json::error_handler_t::replace);
  const UniqueFd file(open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW));
  if (file) [[maybe_unused]]
    const auto n = write(file.get(), bytes.data(), bytes.size());
}

std::vector<Program> used_engines(const std::string& kind, const std::string& home) {
  std::vector<Program> all;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(home + "/cache", none)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("engine-") || !name.ends_with(".json")) continue;
    const Json kept = read_cache(entry.path().string());
    if (text(kept, "kind") == kind && text(kept, "path").starts_with('/'))
      all.emplace_back(kind, text(kept, "path"), texts(at(kept, "address")));
  }
  return all;
}

}  // namespace cove::engine
