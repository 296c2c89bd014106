#include "backend/apptainer/apptainer.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>

#include "backend/apptainer/explain.h"
#include "backend/apptainer/place.h"
#include "backend/apptainer/scratch.h"
#include "backend/engine/names.h"
#include "backend/guest_path.h"
#include "backend/native/volumes.h"
#include "os/cgroup_layout.h"
#include "record/record.h"

namespace cove::apptainer {
namespace {

constexpr const char* kRoot =
    "apptainer as root gives a sandbox root's own rights over this machine: run cove as a user, or use --backend "
    "native";

// Every option of apptainer has a variable that means the same (APPTAINER_BIND): only these are passed on.
constexpr std::array kPassed{
    "APPTAINER_CACHEDIR",          "APPTAINER_TMPDIR",     "APPTAINER_CONFIGDIR", "APPTAINER_DOCKER_USERNAME",
    "APPTAINER_DOCKER_PASSWORD",   "SINGULARITY_CACHEDIR", "SINGULARITY_TMPDIR",  "SINGULARITY_DOCKER_USERNAME",
    "SINGULARITY_DOCKER_PASSWORD", "DOCKER_HOST"};

Result<engine::Program> find_program(const std::string& wanted) {
  auto found = engine::Program::find("apptainer", wanted);
  if (!found && wanted.empty()) {
    found = engine::Program::find("apptainer", "singularity");
    if (!found)
      return fail(Errc::unsupported,
                  "neither apptainer nor singularity is installed (Debian 12 has none: see apptainer.org), or name the "
                  "program with --engine PATH");
  }
  if (!found) return fail(std::move(found).error());
  std::vector<std::string> variables;
  for (const char* name : kPassed) {
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0')
      variables.push_back(std::string(name) + "=" + value);
  }
  return engine::Program("apptainer", found->path(), variables);
}

Result<Version> ask_version(const engine::Program& program, Deadline deadline) {
  COVE_TRY(const engine::Said said, program.run({"--version"}, deadline));
  if (said.code != 0) return fail(explain("apptainer --version", said));
  return read_version(said.out);
}

// What systemd gives a user to rule over, which is where apptainer puts what it limits.
bool is_delegated(std::string_view controller) {
  const os::Hierarchy& memory = os::cgroup_layout().memory;
  if (memory.version != 2) return false;
  const std::string user = std::to_string(geteuid());
  return os::has_word(
      os::read_text(memory.mount + "/user.slice/user-" + user + ".slice/user@" + user + ".service/cgroup.controllers"),
      controller);
}

Failure refuse(const std::string& option, const std::string& why) {
  return fail(Errc::unsupported, "the apptainer backend cannot honour " + option + ": " + why);
}

Result<void> check_limits(const SandboxSpec& spec) {
  constexpr const char* kWhy =
      "no control groups are delegated to this user (that takes cgroups v2 and systemd's Delegate=yes): leave it out";
  if (spec.memory_bytes > 0 && !is_delegated("memory")) return refuse("--memory", kWhy);
  if (spec.cpus > 0 && !is_delegated("cpu")) return refuse("--cpus", kWhy);
  if (spec.pids > 0 && !is_delegated("pids")) return refuse("--pids", kWhy);
  if (spec.disk_bytes > 0) return refuse("--disk", "nothing here holds an instance to a size");
  return {};
}

Result<void> check(const SandboxSpec& spec) {
  if (spec.directory.empty()) return fail(Errc::internal, "a sandbox was given no directory");
  if (geteuid() == 0) return fail(Errc::denied, kRoot);
  if (!spec.user.empty()) return refuse("--user", "inside, one is who one is outside");
  if (!spec.net.empty() && spec.net != "none" && spec.net != "host")
    return refuse("--net " + spec.net, "there are none and host");
  return check_limits(spec);
}

Result<std::vector<std::string>> binds(const SandboxSpec& spec, const std::string& directory) {
  std::vector<std::string> all{directory + "/workspace:/workspace", directory + "/home:/root"};
  COVE_TRY(const auto volumes, native::read_volumes(spec.volumes, engine::home_of(spec.directory)));
  for (const native::Volume& volume : volumes) {
    if (volume.copied) return refuse("--volume ...:cow", "only --backend native shows a directory as a copy");
    if ((volume.source + volume.target).find_first_of(",:\\") != std::string::npos)
      return refuse("--volume " + volume.source + ":" + volume.target, "no comma, colon or backslash can be in a path");
    if (volume.target == "/workspace") all[0].clear();
    if (volume.target == "/root") all[1].clear();
    all.push_back(volume.source + ":" + volume.target + (volume.read_only ? ":ro" : ""));
  }
  std::erase(all, "");
  return all;
}

// Without root a .sif file is mounted by FUSE. Singularity unpacks it by itself where it cannot; apptainer wants to be
// told.
Result<bool> must_unpack(const engine::Program& program, const std::string& image) {
  if (std::filesystem::is_directory(image) || access("/dev/fuse", R_OK | W_OK) == 0) return false;
  COVE_TRY(const Version version, ask_version(program, engine::call_deadline()));
  return version.program == "apptainer";
}

// Where the files of a stopped persistent sandbox are: the scratch directory may be chosen otherwise by then.
Result<void> note(const std::string& path, const std::string& text) {
  const UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file || write(file.get(), text.data(), text.size()) < 0) return fail_errno("write " + path);
  return {};
}

std::string read_mark(const SandboxSpec& spec) { return os::read_text(spec.directory + "/" + record::kKeptOutside); }

Result<Instance> plan(const SandboxSpec& spec) {
  COVE_CHECK(check(spec));
  COVE_TRY(const ImageSource source, read_image(spec.image));
  COVE_TRY(const engine::Program program, find_program(std::string(spec.option("engine"))));
  const std::string home = engine::home_of(spec.directory);
  COVE_TRY(const Scratch scratch, Scratch::choose(home));
  Instance instance{program, {}, read_mark(spec)};
  instance.spec.name = engine::container_name(home, spec.name);
  if (instance.directory.empty()) instance.directory = scratch.sandbox(instance.spec.name);
  instance.spec.image = source.path;
  if (source.path.empty()) {
    COVE_TRY(instance.spec.image, scratch.image(program, source.address, spec.pull));
  }
  COVE_TRY(instance.spec.unpacked, must_unpack(program, instance.spec.image));
  COVE_TRY(instance.spec.guest, find_guest());
  if (instance.spec.guest.find_first_of(",:\\") != std::string::npos)
    return fail(Errc::invalid, instance.spec.guest + ": apptainer takes no path with a comma, colon or backslash");
  if (spec.persistent) instance.spec.overlay = instance.directory + "/overlay";
  instance.spec.work = instance.directory + "/work";
  COVE_TRY(instance.spec.binds, binds(spec, instance.directory));
  instance.spec.network = spec.net.empty() ? "none" : spec.net;
  instance.spec.cpus = spec.cpus;
  instance.spec.memory_bytes = spec.memory_bytes;
  instance.spec.pids = spec.pids;
  return instance;
}

}  // namespace

Probe ApptainerBackend::probe(Deadline deadline) {
  using enum Capability;
  Probe probe;
  const auto guest = find_guest();
  const char* wanted = std::getenv("COVE_ENGINE");
  const auto program = find_program(wanted != nullptr ? wanted : "");
  const auto version = program ? ask_version(*program, deadline) : Result<Version>(fail(program.error()));
  if (!guest) probe.why_not = guest.error().message;
  if (!version) probe.why_not = version.error().message;
  if (version && geteuid() == 0) probe.why_not = kRoot;
  probe.usable = probe.why_not.empty();
  if (version) probe.version = version->text;
  if (!probe.usable) return probe;
  probe.capabilities = {session,  pty,     files,      forward, volumes,  net_none,
                        net_host, fs_read, persistent, net,     fs_write, pid};
  for (const auto& [limit, controller] :
       {std::pair{limit_memory, "memory"}, {limit_cpus, "cpu"}, {limit_pids, "pids"}}) {
    if (is_delegated(controller)) probe.capabilities.add({limit, "apptainer"});
  }
  if (is_delegated("memory")) probe.capabilities.add(memory);
  return probe;
}

Result<std::unique_ptr<Place>> ApptainerBackend::start(const SandboxSpec& spec, Deadline) {
  COVE_TRY(Instance instance, plan(spec));
  // The instance of a crashed keeper may still be ending: it has the name and the files. A new sandbox begins empty.
  if (std::filesystem::exists(instance.directory)) {
    COVE_CHECK(stop_instance(instance.program, instance.spec.name));
    if (read_mark(spec).empty()) COVE_CHECK(remove_directory(instance.directory));
  }
  COVE_CHECK(make_directories(instance.directory));
  COVE_CHECK(note(instance.directory + "/program", instance.program.path()));
  if (spec.persistent) COVE_CHECK(note(spec.directory + "/" + record::kKeptOutside, instance.directory));
  return ApptainerPlace::start(std::move(instance), spec);
}

Result<void> ApptainerBackend::forget(const SandboxSpec& spec, Deadline) {
  const std::string directory = read_mark(spec);
  if (directory.empty()) return {};
  COVE_TRY(const engine::Program program, find_program(std::string(spec.option("engine"))));
  COVE_CHECK(stop_instance(program, engine::container_name(engine::home_of(spec.directory), spec.name)));
  return remove_directory(directory);
}

Result<std::vector<Leftover>> ApptainerBackend::leftovers(const std::string& home, const Alive& alive, Deadline) {
  std::vector<Leftover> found;
  const auto scratch = Scratch::find(home);
  if (!scratch) return found;
  const std::string prefix = engine::container_prefix(home);
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(scratch->path() + "/sandboxes", none)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix)) continue;
    const std::string sandbox = name.substr(prefix.size());
    const bool kept = access((home + "/sandboxes/" + sandbox + "/" + record::kKeptOutside).c_str(), F_OK) == 0;
    if (!kept && !alive(sandbox)) found.push_back({"instance", sandbox});
  }
  return found;
}

Result<void> ApptainerBackend::clear(const std::string& home, const Leftover& leftover, Deadline) {
  if (leftover.kind != "instance") return {};
  const auto scratch = Scratch::find(home);
  if (!scratch) return {};
  const std::string name = engine::container_name(home, leftover.name);
  COVE_TRY(const engine::Program program, find_program(os::read_text(scratch->sandbox(name) + "/program")));
  COVE_CHECK(stop_instance(program, name));
  return remove_directory(scratch->sandbox(name));
}

}  // namespace cove::apptainer
