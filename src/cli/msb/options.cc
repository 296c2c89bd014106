#include "cli/msb/options.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "backend/table.h"
#include "base/text.h"
#include "cli/print.h"
#include "client/complete.h"
#include "record/record.h"

namespace cove::cli::msb {
namespace {

constexpr auto kProbeTime = std::chrono::seconds(10);

Result<Probe> probe(std::string_view backend) {
  COVE_TRY(Backend* const found, find_backend(backend));
  return found->probe(Deadline::after(kProbeTime));
}

// A path of msb's: relative to where the caller is.
Result<std::string> real_path(const std::string& path, const std::string& otherwise) {
  char* const real = realpath(path.c_str(), nullptr);
  if (real == nullptr) return fail(Errc::not_found, otherwise);
  std::string copy(real);
  std::free(real);
  return copy;
}

// SOURCE:DEST[:ro|:rw]
Result<std::string> volume(const std::string& text) {
  const std::size_t first = text.find(':');
  const std::size_t second = first == text.npos ? text.npos : text.find(':', first + 1);
  if (first == text.npos || first == 0) return fail(Errc::invalid, "'" + text + "' is not SOURCE:DEST[:OPTIONS]");
  const std::string source = text.substr(0, first), inside = text.substr(first + 1, second - first - 1);
  const std::string option = second == text.npos ? "rw" : text.substr(second + 1);
  if (option != "ro" && option != "rw")
    return fail(Errc::unsupported, "mount option '" + option + "' is not understood: there are ro and rw");
  if (source.find('/') == source.npos && source != "." && source != "..")
    return fail(Errc::unsupported, "named volumes are not there: mount a directory, as ./" + source);
  COVE_TRY(const std::string real, real_path(source, "the host path for one of the mounts does not exist: " + source));
  return real + ":" + inside + (option == "ro" ? ":ro" : "");
}

bool is_path(const std::string& image) {
  return image.starts_with('/') || image.starts_with("./") || image.starts_with("../") || image == "." || image == "..";
}

// No network where msb would give one is the safe side, but has to be said.
Result<std::string> network(const SandboxOptions& options, const std::string& backend) {
  if (options.no_net) return std::string("none");
  COVE_TRY(const Probe probed, probe(backend));
  if (probed.capabilities.has(Capability::net_full)) return std::string("full");
  if (!options.common.quiet)
    complain("warn: there is no network inside: backend " + backend + " cannot give one here ('cove doctor' says why)");
  return std::string("none");
}

Result<void> set_image(SandboxSpec& spec, const SandboxOptions& options) {
  if (options.image.empty())
    return fail(Errc::invalid, "missing required sandbox field `image`; provide an image argument");
  spec.image = options.image;
  if (is_path(options.image)) {
    COVE_TRY(spec.image, real_path(options.image, "rootfs bind path does not exist: " + options.image));
  }
  spec.pull = options.pull == "if-missing" ? "missing" : options.pull;
  return {};
}

}  // namespace

void define(Arguments& arguments, SandboxOptions& options) {
  define(arguments, options.common);
  arguments.text("-n,--name", options.name, "NAME", "Name of the sandbox; generated if omitted");
  arguments.flag("--replace", options.replace, "Remove an existing sandbox of this name first");
  arguments.value("-c,--cpus", "CPUS", "Processors", [&options](const std::string& text) -> Result<void> {
    COVE_TRY(options.cpus, parse_decimal(text));
    return {};
  });
  arguments.value("-m,--memory", "SIZE", "Memory (512M, 1G)", [&options](const std::string& text) -> Result<void> {
    COVE_TRY(options.memory_bytes, parse_size(text));
    return {};
  });
  arguments.texts("-v,--volume", options.volumes, "SOURCE:DEST[:ro]", "Mount a host directory inside");
  arguments.texts("-e,--env", options.env, "K=V", "Set a variable inside; K alone copies the host's value");
  arguments.text("-w,--workdir", options.workdir, "DIR", "Set the working directory of commands");
  arguments.text("-u,--user", options.user, "USER", "Run commands as this user");
  arguments.duration("--max-duration", options.max_duration, "End after this time in any case (30s, 5m, 1h)");
  arguments.duration("--idle-timeout", options.idle_timeout, "Stop after this time without a command");
  arguments.flag("--no-net,--no-network", options.no_net, "Disable the network inside");
  arguments.value("--pull", "WHEN", "always, if-missing (usual), never", [&options](const std::string& text) {
    options.pull = text;
    const bool known = text == "always" || text == "if-missing" || text == "never";
    return known ? Result<void>{} : fail(Errc::invalid, "'" + text + "' is none of always, if-missing, never");
  });
  arguments.positional("IMAGE", options.image, Need::optional, "A name as for docker, or a directory (./rootfs)");
}

Result<std::string> chosen_backend() {
  if (const char* chosen = std::getenv("COVE_MSB_BACKEND"); chosen != nullptr && *chosen != '\0') {
    COVE_TRY(const Backend* const backend, find_backend(chosen));
    return std::string(backend->name());
  }
  const auto microvm = probe("microvm");
  const Ability* const accel = microvm ? microvm->capabilities.find(Capability::accel) : nullptr;
  return std::string(accel != nullptr && accel->how == "kvm" ? "microvm" : "native");
}

Result<std::vector<std::string>> with_values(const std::vector<std::string>& entries) {
  std::vector<std::string> all;
  for (const std::string& entry : entries) {
    const char* const value = entry.find('=') == entry.npos ? std::getenv(entry.c_str()) : "";
    if (value == nullptr) return fail(Errc::invalid, "environment variable '" + entry + "' not set");
    all.push_back(entry.find('=') == entry.npos ? entry + "=" + value : entry);
  }
  return all;
}

Result<SandboxSpec> make_spec(const SandboxOptions& options) {
  SandboxSpec spec;
  COVE_TRY(spec.backend, chosen_backend());
  COVE_CHECK(set_image(spec, options));
  if (!options.name.empty()) spec.name = record::name_for(options.name);
  for (const std::string& text : options.volumes) {
    COVE_TRY(std::string one, volume(text));
    spec.volumes.push_back(std::move(one));
  }
  COVE_TRY(spec.net, network(options, spec.backend));
  spec.cpus = options.cpus;
  spec.memory_bytes = options.memory_bytes;
  spec.max_duration_ms = static_cast<std::uint64_t>(options.max_duration.count());
  spec.idle_timeout_ms = static_cast<std::uint64_t>(options.idle_timeout.count());
  spec.cwd = options.workdir;
  spec.user = options.user;
  COVE_TRY(auto env, with_values(options.env));
  const PullOutput output = options.common.quiet ? PullOutput::quiet : PullOutput::shown;
  return complete(std::move(spec), {.env = std::move(env), .pull_output = output, .otherwise_in = "/"});
}

Result<Sandbox> create(const SandboxOptions& options, const SandboxSpec& spec) {
  if (options.replace && !spec.name.empty()) {
    const auto removed = Sandbox::remove(spec.name);
    if (!removed && removed.error().code != Errc::not_found) return fail(removed.error());
  }
  return Sandbox::create(spec);
}

}  // namespace cove::cli::msb
