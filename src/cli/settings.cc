#include "cli/settings.h"

#include <cstdlib>

#include "cli/text.h"

namespace cove::cli {
namespace {

template <auto Member>
Result<void> set_text(SandboxSpec& spec, const std::string& value) {
  if (value.empty()) return fail(Errc::invalid, "must not be empty");
  spec.*Member = value;
  return {};
}

template <auto Member>
Result<void> set_duration(SandboxSpec& spec, const std::string& value) {
  COVE_TRY(const auto time, parse_duration(value));
  spec.*Member = static_cast<std::uint64_t>(time.count());
  return {};
}

template <auto Member>
Result<void> set_size(SandboxSpec& spec, const std::string& value) {
  COVE_TRY(spec.*Member, parse_size(value));
  return {};
}

Result<void> set_cpus(SandboxSpec& spec, const std::string& value) {
  COVE_TRY(spec.cpus, parse_decimal(value));
  return {};
}

Result<void> set_pids(SandboxSpec& spec, const std::string& value) {
  COVE_TRY(const auto count, parse_count(value));
  if (count > 4'194'304) return fail(Errc::invalid, value + " is more than a kernel has");
  spec.pids = static_cast<std::uint32_t>(count);
  return {};
}

constexpr Setting kSettings[] = {
    {"backend", "NAME", "What makes the sandbox; 'cove doctor' lists them", set_text<&SandboxSpec::backend>},
    {"image", "IMAGE", "Root file system: host, a directory, or a name as for docker", set_text<&SandboxSpec::image>},
    {"engine", "PATH", "The engine's program, for docker and podman", set_text<&SandboxSpec::engine>},
    {"runtime", "NAME", "What docker runs containers with, as runsc", set_text<&SandboxSpec::runtime>},
    {"accel", "NAME", "What runs a microvm's code: auto, kvm or tcg", set_text<&SandboxSpec::accel>},
    {"kernel", "FILE", "The kernel of a microvm (vmlinuz or vmlinux)", set_text<&SandboxSpec::kernel>},
    {"net", "NET", "Network: none, host, full or full,private", set_text<&SandboxSpec::net>},
    {"timeout", "TIME", "Limit for each command (30, 30s, 5m, 500ms)", set_duration<&SandboxSpec::timeout_ms>},
    {"idle_timeout", "TIME", "End after this time without a command", set_duration<&SandboxSpec::idle_timeout_ms>},
    {"max_duration", "TIME", "End after this time in any case", set_duration<&SandboxSpec::max_duration_ms>},
    {"log_cap", "SIZE", "Output kept per command", set_size<&SandboxSpec::log_cap_bytes>},
    {"cpus", "N", "Processors, as 1.5", set_cpus},
    {"memory", "SIZE", "Memory, as 512m or 2g", set_size<&SandboxSpec::memory_bytes>},
    {"disk", "SIZE", "Disk space", set_size<&SandboxSpec::disk_bytes>},
    {"pids", "N", "Processes", set_pids},
};

}  // namespace

std::span<const Setting> settings() { return kSettings; }

std::string option_name(const Setting& setting) {
  std::string name = "--" + std::string(setting.key);
  for (char& c : name) c = c == '_' ? '-' : c;
  return name;
}

std::string environment_name(const Setting& setting) {
  std::string name = "COVE_";
  for (const char c : setting.key) name += c == '_' ? '_' : static_cast<char>(c - 'a' + 'A');
  return name;
}

std::string known_keys() {
  std::string all;
  for (const Setting& setting : settings()) all += (all.empty() ? "" : ", ") + std::string(setting.key);
  return all;
}

Result<void> read_configuration(SandboxSpec& spec) {
  if (const std::string path = configuration_path(); !path.empty()) COVE_CHECK(read_configuration_file(path, spec));
  for (const Setting& setting : settings()) {
    const std::string name = environment_name(setting);
    const char* value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0') continue;
    if (auto done = setting.set(spec, value); !done) return fail(std::move(done).error().because(name));
  }
  return {};
}

std::string configuration_path() {
  const char* base = std::getenv("XDG_CONFIG_HOME");
  if (base != nullptr && *base == '/') return std::string(base) + "/cove/config.toml";
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/.config/cove/config.toml" : "";
}

}  // namespace cove::cli
