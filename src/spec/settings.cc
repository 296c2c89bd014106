#include "spec/settings.h"

#include <algorithm>
#include <cstdlib>

#include "backend/traits.h"
#include "base/text.h"

namespace cove::spec {
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

// Sorted out by settle_options() once the backend is known.
Setting setting_of(const BackendOption& option) {
  const auto set = [&option](SandboxSpec& spec, const std::string& value) -> Result<void> {
    if (option.is_switch() && value != "true" && value != "false") return fail(Errc::invalid, "is true or false");
    if (value.empty()) return fail(Errc::invalid, "must not be empty");
    if (option.check != nullptr) COVE_CHECK(option.check(value));
    spec.set_option(option.key, value);
    return {};
  };
  return {option.key, option.metavar, option.help, set, option.is_switch(), true};
}

const Setting kCommon[] = {
    {"backend", "NAME", "Select the backend; 'cove doctor' lists all", set_text<&SandboxSpec::backend>},
    {"image", "IMAGE", "Set the image: host, a directory, or a name as for docker", set_text<&SandboxSpec::image>},
    {"net", "NET", "Set the network: none, host, full or full,private", set_text<&SandboxSpec::net>},
    {"timeout", "TIME", "Limit the time of each command (30, 30s, 5m, 500ms)", set_duration<&SandboxSpec::timeout_ms>},
    {"idle_timeout", "TIME", "End after this time without a command", set_duration<&SandboxSpec::idle_timeout_ms>},
    {"max_duration", "TIME", "End after this time in any case", set_duration<&SandboxSpec::max_duration_ms>},
    {"log_cap", "SIZE", "Limit the stored output per command", set_size<&SandboxSpec::log_cap_bytes>},
    {"cpus", "N", "Limit processors, such as 1.5", set_cpus},
    {"memory", "SIZE", "Limit memory, such as 512m or 2g", set_size<&SandboxSpec::memory_bytes>},
    {"disk", "SIZE", "Limit disk space", set_size<&SandboxSpec::disk_bytes>},
    {"pids", "N", "Limit the number of processes", set_pids},
};

}  // namespace

const std::vector<Setting>& settings() {
  static const std::vector<Setting> all = [] {
    std::vector<Setting> found(std::begin(kCommon), std::end(kCommon));
    for (const Traits& traits : kBackends) {
      for (const BackendOption& option : traits.options) {
        const auto same = [&](const Setting& setting) { return setting.key == option.key; };
        if (std::none_of(found.begin(), found.end(), same)) found.push_back(setting_of(option));
      }
    }
    return found;
  }();
  return all;
}

Result<void> settle_options(SandboxSpec& spec, const std::vector<std::string>& given) {
  const Traits& backend = traits_of(spec.backend);
  for (const auto& [key, value] : spec.options) {
    if (has_option(backend, key) || std::find(given.begin(), given.end(), key) == given.end()) continue;
    std::string having;
    for (const Traits& other : kBackends) {
      if (has_option(other, key)) having += (having.empty() ? "" : ", ") + std::string(other.name);
    }
    return fail(Errc::invalid, "--" + key + ": backend " + spec.backend +
                                   " has no such option: leave it out, or name " + "a backend that has it (" + having +
                                   ")");
  }
  std::erase_if(spec.options,
                [&](const auto& option) { return !has_option(backend, option.first) || option.second == "false"; });
  return {};
}

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

}  // namespace cove::spec
