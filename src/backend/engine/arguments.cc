#include "backend/engine/arguments.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "backend/engine/names.h"
#include "backend/guest_path.h"
#include "backend/native/volumes.h"

namespace cove::engine {
namespace {

constexpr std::array<const char*, 5> kCapabilities{"DAC_OVERRIDE", "CHOWN", "FOWNER", "SETUID", "SETGID"};

Failure refuse(const Program& program, const std::string& option, const std::string& why) {
  return fail(Errc::unsupported, "the " + program.kind() + " backend cannot honour " + option + ": " + why);
}

Result<void> check_limits(const SandboxSpec& spec, const Program& program, const Facts& facts) {
  constexpr const char* kWhy =
      "this engine cannot enforce it here ('cove doctor' shows what it can; a rootless engine needs delegated cgroup "
      "controllers): leave it out, or use --backend native";
  if (spec.memory_bytes > 0 && !facts.memory) return refuse(program, "--memory", kWhy);
  if (spec.cpus > 0 && !facts.cpus) return refuse(program, "--cpus", kWhy);
  if (spec.pids > 0 && !facts.pids) return refuse(program, "--pids", kWhy);
  if (spec.disk_bytes > 0 && facts.driver == "vfs")
    return refuse(program, "--disk", "its storage (vfs) holds no container to a size: use --backend native");
  return {};
}

Result<void> check_image(const SandboxSpec& spec, const Program& program) {
  if (spec.image.empty() && spec.layers.empty())
    return fail(Errc::invalid, "a " + program.kind() + " sandbox is made of an image: give --image NAME (as for '" +
                                   program.kind() + " run'), or set 'image' in the configuration");
  if (spec.image == "host" || spec.image.starts_with('/'))
    return refuse(program, "--image " + spec.image,
                  "it takes the names of images; '" + program.kind() +
                      " import' makes one of a directory, and --backend native takes host and directories");
  if (spec.image.starts_with('-')) return fail(Errc::invalid, "--image " + spec.image + ": that is no image's name");
  return {};
}

Result<std::string> network(const SandboxSpec& spec) {
  if (spec.net.empty() || spec.net == "none") return std::string("none");
  if (spec.net == "host") return std::string("host");
  if (spec.net == "full,private") return std::string();
  if (spec.net == "full")
    return fail(Errc::unsupported,
                "--net full: an engine's network also reaches private addresses: say so with --net full,private, or "
                "use --backend native");
  return fail(Errc::invalid, "--net " + spec.net + ": there are none, host and full,private");
}

// Volumes of an engine elsewhere are paths of that machine: only their form can be looked at here.
Result<std::vector<native::Volume>> volumes(const SandboxSpec& spec, const Facts& facts) {
  COVE_TRY(auto all, facts.local ? native::read_volumes(spec.volumes, home_of(spec.directory))
                                 : native::parse_volumes(spec.volumes));
  for (const native::Volume& volume : all) {
    if (volume.copied)
      return fail(Errc::unsupported, "--volume " + volume.source + ":" + volume.target +
                                         ":cow: only --backend native shows a directory as a copy");
    if (volume.target == "/cove" || volume.target.starts_with("/cove/"))
      return fail(Errc::invalid, "--volume: " + volume.target + " inside is the sandbox's own");
  }
  return all;
}

// An engine without CAP_SYS_RESOURCE cannot raise limits, but podman tries to.
void add_ulimits(const Facts& facts, std::vector<std::string>& words) {
  if (!facts.podman || facts.rootless || prctl(PR_CAPBSET_READ, CAP_SYS_RESOURCE) == 1) return;
  for (const auto& [name, which] :
       {std::pair<std::string, __rlimit_resource>{"nofile", RLIMIT_NOFILE}, {"nproc", RLIMIT_NPROC}}) {
    rlimit now{};
    if (getrlimit(which, &now) < 0) continue;
    constexpr rlim_t kMost = 1U << 15;
    const std::string most = std::to_string(std::min(now.rlim_max, kMost));
    words.push_back("--ulimit=" + name + "=" + most + ":" + most);
  }
}

void add_limits(const SandboxSpec& spec, const Facts& facts, std::vector<std::string>& words) {
  if (spec.memory_bytes > 0) {
    words.push_back("--memory=" + std::to_string(spec.memory_bytes));
    words.push_back("--memory-swap=" + std::to_string(spec.memory_bytes));
  }
  if (spec.cpus > 0) words.push_back("--cpus=" + std::to_string(spec.cpus));
  if (facts.pids) words.push_back("--pids-limit=" + std::to_string(spec.pids > 0 ? spec.pids : kUsualPids));
  if (spec.disk_bytes > 0) words.push_back("--storage-opt=size=" + std::to_string(spec.disk_bytes));
}

std::vector<std::string> hardened(const SandboxSpec& spec, const Facts& facts) {
  std::vector<std::string> words{"--init",
                                 "--cap-drop=ALL",
                                 "--security-opt=no-new-privileges",
                                 "--tmpfs=/tmp:rw,exec,nosuid,nodev,size=536870912,mode=1777",
                                 "--tmpfs=/var/tmp:rw,noexec,nosuid,nodev,size=268435456,mode=1777",
                                 "--tmpfs=/run:rw,noexec,nosuid,nodev,size=67108864,mode=755",
                                 "--cgroupns=private",
                                 "--ulimit=core=0:0",
                                 "--log-driver=none",
                                 "--no-healthcheck"};
  for (const char* capability : kCapabilities) words.push_back(std::string("--cap-add=") + capability);
  if (facts.podman) {
    // Of the host's environment, of its devices: nothing by itself.
    for (const char* word : {"--http-proxy=false", "--systemd=false"}) words.emplace_back(word);
  }
  add_limits(spec, facts, words);
  add_ulimits(facts, words);
  return words;
}

}  // namespace

std::string channel_directory(const SandboxSpec& spec) { return spec.directory + "/channel"; }
std::string workspace_directory(const SandboxSpec& spec) { return spec.directory + "/workspace"; }
std::string home_directory(const SandboxSpec& spec) { return spec.directory + "/home"; }

std::vector<std::string> command_words() { return {"--listen", kSocketInside}; }

Result<void> check(const SandboxSpec& spec, const Program& program, const Facts& facts) {
  if (spec.directory.empty()) return fail(Errc::internal, "a sandbox was given no directory");
  COVE_CHECK(check_image(spec, program));
  COVE_CHECK(check_limits(spec, program, facts));
  COVE_CHECK(network(spec));
  COVE_CHECK(volumes(spec, facts));
  if (spec.persistent && !facts.local)
    return refuse(program, "--persistent", "its files are to be kept here, and the engine is elsewhere");
  const std::string runtime(spec.option("runtime"));
  if (!runtime.empty() && !facts.podman &&
      std::find(facts.runtimes.begin(), facts.runtimes.end(), runtime) == facts.runtimes.end()) {
    std::string known;
    for (const std::string& name : facts.runtimes) known += (known.empty() ? "" : ", ") + name;
    return refuse(program, "--runtime " + runtime, "the engine has " + known + "; daemon.json adds others");
  }
  return {};
}

Result<RunWords> run_words(const SandboxSpec& spec, const Facts& facts, Way way) {
  COVE_TRY(const auto shown, volumes(spec, facts));
  COVE_TRY(const std::string net, network(spec));
  const std::string home = home_of(spec.directory);
  std::vector<std::string> words = hardened(spec, facts);
  if (!net.empty()) words.push_back("--network=" + net);
  if (const auto runtime = spec.option("runtime"); !runtime.empty())
    words.push_back("--runtime=" + std::string(runtime));
  if (!spec.user.empty()) words.push_back("--user=" + spec.user);
  if (way != Way::remote) {
    COVE_TRY(const std::string guest, find_guest());
    words.push_back("--volume=" + guest + ":" + kGuestInside + ":ro");
  }
  if (way == Way::direct)
    words.push_back("--volume=" + channel_directory(spec) + ":" + kChannelInside);
  else
    words.push_back(std::string("--tmpfs=") + kChannelInside + ":rw,noexec,nosuid,nodev,size=65536,mode=1777");
  if (spec.persistent) {
    words.push_back("--volume=" + workspace_directory(spec) + ":/workspace");
    words.push_back("--volume=" + home_directory(spec) + ":/root");
  }
  for (const native::Volume& volume : shown)
    words.push_back("--volume=" + volume.source + ":" + volume.target + (volume.read_only ? ":ro" : ""));
  words.push_back(std::string("--entrypoint=") + kGuestInside);
  std::string all = spec.image;
  for (const std::string& word : words) all += "\n" + word;
  RunWords run{std::move(words), hash_text(all)};
  if (!spec.persistent) run.words.insert(run.words.begin(), "--rm");
  run.words.push_back("--name=" + container_name(home, spec.name));
  for (const auto& [label, value] : {std::pair<std::string, std::string>{kHomeLabel, hash_text(home)},
                                     {kSandboxLabel, spec.name},
                                     {kOwnerLabel, std::to_string(geteuid())},
                                     {kBaseLabel, spec.layers.empty() ? "" : spec.layers.back()},
                                     {kSpecLabel, run.digest}})
    run.words.push_back("--label=" + label + "=" + value);
  return run;
}

}  // namespace cove::engine
