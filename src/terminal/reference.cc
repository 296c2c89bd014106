// The variables of the Python tool whose place this one takes, so that a set-up that has them works as it is.

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "backend/traits.h"
#include "base/text.h"
#include "terminal/settings.h"

namespace cove::terminal {
namespace {

using Json = nlohmann::json;

constexpr const char* kReferenceImage = "nikolaik/python-nodejs:python3.11-nodejs20";

Failure expected(std::string_view name, const std::string& value, std::string_view what) {
  return fail(Errc::invalid,
              "Invalid value for " + std::string(name) + ": '" + value + "' (expected " + std::string(what) + ")");
}

Result<std::int64_t> whole_number(std::string_view name, const std::string& value) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || number <= 0)
    return expected(name, value, "integer above zero");
  return number;
}

Result<bool> truth(std::string_view name, const std::string& value) {
  auto parsed = parse_bool(value);
  if (!parsed) return expected(name, value, "true or false");
  return *parsed;
}

struct Reader {
  const policy::HostEnv& host;
  Settings& settings;

  const std::string* find(std::string_view name) const { return find_variable(host, name); }

  Result<void> seconds(std::string_view name, std::chrono::milliseconds& time) const {
    const std::string* value = find(name);
    if (value == nullptr) return {};
    COVE_TRY(const std::int64_t number, whole_number(name, *value));
    time = std::chrono::seconds(std::min<std::int64_t>(number, 1'000'000'000));
    return {};
  }
  Result<void> megabytes(std::string_view name, std::uint64_t& bytes) const {
    const std::string* value = find(name);
    if (value == nullptr) return {};
    COVE_TRY(const std::int64_t number, whole_number(name, *value));
    bytes = static_cast<std::uint64_t>(std::min<std::int64_t>(number, 1'000'000'000)) << 20;
    return {};
  }
  Result<bool> is(std::string_view name, bool otherwise) const {
    const std::string* value = find(name);
    return value == nullptr ? Result<bool>(otherwise) : truth(name, *value);
  }
  Result<Json> json(std::string_view name) const {
    const std::string* value = find(name);
    if (value == nullptr) return Json();
    Json parsed = Json::parse(*value, nullptr, false);
    if (parsed.is_discarded()) return expected(name, *value, "JSON");
    return parsed;
  }
};

std::string backend_called(const std::string& name) {
  if (name == "singularity") return "apptainer";
  return name;
}

// A directory of the host's is none inside.
bool is_of_the_host(const std::string& path) {
  return !(path.starts_with('/') || path.starts_with('~')) || path.starts_with("/Users/") || path.starts_with("/home/");
}

Result<void> read_volumes(const Reader& reader) {
  COVE_TRY(const Json volumes, reader.json("TERMINAL_DOCKER_VOLUMES"));
  if (volumes.is_null()) return {};
  if (!volumes.is_array()) return expected("TERMINAL_DOCKER_VOLUMES", volumes.dump(), "a list");
  for (const Json& volume : volumes) {
    if (volume.is_string() && volume.get<std::string>().find(':') != std::string::npos)
      reader.settings.spec.volumes.push_back(volume.get<std::string>());
    else
      reader.settings.warnings.push_back("TERMINAL_DOCKER_VOLUMES: " + volume.dump() +
                                         " is left out: it is not HOST:INSIDE");
  }
  return {};
}

Result<void> read_variables(const Reader& reader) {
  COVE_TRY(const Json variables, reader.json("TERMINAL_DOCKER_ENV"));
  if (!variables.is_null() && !variables.is_object())
    return expected("TERMINAL_DOCKER_ENV", variables.dump(), "an object");
  for (const auto& [name, value] : variables.items()) {
    if (policy::is_variable_name(name) && value.is_primitive() && !value.is_null())
      reader.settings.env.push_back(name + "=" + (value.is_string() ? value.get<std::string>() : value.dump()));
    else
      reader.settings.warnings.push_back("TERMINAL_DOCKER_ENV: " + name + " is left out");
  }
  COVE_TRY(const Json names, reader.json("TERMINAL_DOCKER_FORWARD_ENV"));
  if (!names.is_null()) COVE_CHECK(apply_setting(reader.settings, "forward_env", names));
  return {};
}

// What has no counterpart is refused where it asks for something: a wall or a device that is silently not there is
// worse than an error.
Result<void> refuse_the_rest(const Reader& reader) {
  COVE_TRY(const Json extra, reader.json("TERMINAL_DOCKER_EXTRA_ARGS"));
  if (!extra.is_null() && !extra.empty())
    return fail(Errc::unsupported,
                "TERMINAL_DOCKER_EXTRA_ARGS: arguments for docker are not passed on; use the keys of config.toml");
  COVE_TRY(const bool host_user, reader.is("TERMINAL_DOCKER_RUN_AS_HOST_USER", false));
  if (host_user)
    return fail(Errc::unsupported,
                "TERMINAL_DOCKER_RUN_AS_HOST_USER: not supported; files of volumes keep their owners");
  return {};
}

Result<void> read_container(const Reader& reader, bool chosen) {
  Settings& settings = reader.settings;
  SandboxSpec& spec = settings.spec;
  constexpr std::array<std::pair<std::string_view, const char*>, 6> kImages{
      {{"docker", "TERMINAL_DOCKER_IMAGE"},
       {"podman", "TERMINAL_DOCKER_IMAGE"},
       {"apptainer", "TERMINAL_SINGULARITY_IMAGE"},
       {"microsandbox", "TERMINAL_MICROSANDBOX_IMAGE"},
       {"modal", "TERMINAL_MODAL_IMAGE"},
       {"daytona", "TERMINAL_DAYTONA_IMAGE"}}};
  for (const auto& [backend, name] : kImages) {
    if (backend != spec.backend) continue;
    if (const std::string* image = reader.find(name)) spec.image = *image;
  }
  if (chosen && traits_of(spec.backend).images == Images::engine && spec.image.empty()) spec.image = kReferenceImage;
  if (const std::string* cpus = reader.find("TERMINAL_CONTAINER_CPU")) {
    const auto count = parse_decimal(*cpus);
    if (!count) return expected("TERMINAL_CONTAINER_CPU", *cpus, "number above zero");
    spec.cpus = *count;
  }
  COVE_CHECK(reader.megabytes("TERMINAL_CONTAINER_MEMORY", spec.memory_bytes));
  COVE_CHECK(reader.megabytes("TERMINAL_CONTAINER_DISK", spec.disk_bytes));
  COVE_TRY(spec.persistent, reader.is("TERMINAL_CONTAINER_PERSISTENT", spec.persistent || chosen));
  if (traits_of(spec.backend).images != Images::engine) return {};
  if (const std::string* program = reader.find("HERMES_DOCKER_BINARY")) spec.set_option("engine", *program);
  COVE_TRY(const bool network, reader.is("TERMINAL_DOCKER_NETWORK", chosen || spec.net != "none"));
  if (chosen || reader.find("TERMINAL_DOCKER_NETWORK") != nullptr) spec.net = network ? "full,private" : "none";
  COVE_CHECK(read_volumes(reader));
  COVE_CHECK(read_variables(reader));
  return refuse_the_rest(reader);
}

}  // namespace

Result<void> apply_reference(Settings& settings, const policy::HostEnv& host) {
  const Reader reader{host, settings};
  const std::string* chosen = reader.find("TERMINAL_ENV");
  if (chosen != nullptr) settings.spec.backend = backend_called(*chosen);
  COVE_CHECK(reader.seconds("TERMINAL_TIMEOUT", settings.timeout));
  COVE_CHECK(reader.seconds("TERMINAL_LIFETIME_SECONDS", settings.lifetime));
  COVE_CHECK(reader.seconds("TERMINAL_MAX_FOREGROUND_TIMEOUT", settings.max_foreground));
  if (const std::string* mode = reader.find("TERMINAL_DEGRADED_MODE")) settings.fail_when_degraded = *mode == "fail";
  // COVE_BACKEND comes later and wins; what it names is what these are about.
  const std::string* named = reader.find("COVE_BACKEND");
  const bool local = traits_of(named != nullptr ? *named : settings.spec.backend).is_this_machine;
  if (const std::string* cwd = reader.find("TERMINAL_CWD"); cwd != nullptr && (local || !is_of_the_host(*cwd)))
    settings.spec.cwd = *cwd;
  if (local || (named != nullptr && *named != settings.spec.backend)) return {};
  return read_container(reader, chosen != nullptr);
}

}  // namespace cove::terminal
