#include "backend/microsandbox/words.h"

#include <cmath>

namespace cove::microsandbox {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// As a word of its own: "--no-net" is not in "--no-network".
bool names(const std::string& help, const std::string& option) {
  for (std::size_t at = help.find(option); at != help.npos; at = help.find(option, at + 1)) {
    const char behind = at + option.size() < help.size() ? help[at + option.size()] : '\n';
    if (behind == ' ' || behind == '\n' || behind == ',' || behind == '=') return true;
  }
  return false;
}

std::string whole_seconds(std::uint64_t ms) { return std::to_string((ms + 999) / 1000) + "s"; }

}  // namespace

Takes read_help(const std::string& create_help, const std::string& exec_help) {
  Takes takes;
  for (const char* option : {"--no-net", "--no-network"}) {
    if (takes.no_net.empty() && names(create_help, option)) takes.no_net = option;
  }
  takes.stream = names(exec_help, "--stream");
  return takes;
}

Result<void> check(const SandboxSpec& spec, const Takes& takes) {
  const auto refuse = [](const std::string& what) { return fail(Errc::unsupported, what); };
  if (spec.image.empty() || spec.image == "host")
    return refuse("--backend microsandbox needs an image: --image alpine, or a directory");
  if (spec.pids > 0) return refuse("--pids: msb has no such limit; --memory bounds them as well");
  if (spec.disk_bytes > 0) return refuse("--disk: msb keeps its disks itself; leave it out");
  if (!spec.net.empty() && spec.net != "none" && spec.net != "full")
    return refuse("--net " + spec.net + ": msb gives the public network (full) or none");
  if (spec.net != "full" && takes.no_net.empty())
    return refuse("this msb does not say how to do without a network: update it, or use --net full");
  for (const std::string& volume : spec.volumes) {
    if (volume.ends_with(":cow")) return refuse("--volume " + volume + ": msb has no private copies; use :ro");
  }
  return {};
}

std::vector<std::string> create_words(const SandboxSpec& spec, const Takes& takes, const std::string& name,
                                      const std::string& guest) {
  std::vector<std::string> words{"create", "--name", name, "--quiet"};
  const auto add = [&](const std::string& option, const std::string& value) {
    words.push_back(option);
    words.push_back(value);
  };
  if (!spec.persistent) words.emplace_back("--replace");
  if (spec.cpus > 0) add("--cpus", std::to_string(static_cast<long>(std::ceil(spec.cpus))));
  if (spec.memory_bytes > 0) add("--memory", std::to_string((spec.memory_bytes + kMiB - 1) / kMiB) + "M");
  if (spec.net != "full") words.push_back(takes.no_net);
  if (spec.max_duration_ms > 0) add("--max-duration", whole_seconds(spec.max_duration_ms));
  add("--volume", guest + ":/cove:ro");
  for (const std::string& volume : spec.volumes) add("--volume", volume);
  words.push_back(spec.image);
  return words;
}

std::vector<std::string> exec_words(const Takes& takes, const std::string& name) {
  std::vector<std::string> words{"exec", "--quiet"};
  if (takes.stream) words.emplace_back("--stream");
  words.insert(words.end(), {name, "--", kGuestInside, "--stdio"});
  return words;
}

}  // namespace cove::microsandbox
