#include "terminal/settings.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>

#include "backend/traits.h"
#include "base/text.h"
#include "client/complete.h"
#include "spec/settings.h"
#include "terminal/config_table.h"

namespace cove::terminal {
namespace {

using Json = nlohmann::json;

// A value as one would write it in a variable: 30, 1.5, true, text.
Result<std::string> as_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return std::string(value.get<bool>() ? "true" : "false");
  if (value.is_number()) return value.dump();
  return fail(Errc::invalid, "must be text, a number, true or false");
}

// ["A", "B"], the same as JSON in a string, or A,B.
Result<std::vector<std::string>> as_list(Json value) {
  if (value.is_string()) {
    const auto text = value.get<std::string>();
    value = Json::parse(text, nullptr, false);
    if (!value.is_array()) {
      value = Json::array();
      for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(',', at), text.size());
        if (end > at) value.push_back(text.substr(at, end - at));
        at = end + 1;
      }
    }
  }
  if (!value.is_array()) return fail(Errc::invalid, "must be a list");
  std::vector<std::string> all;
  for (const Json& one : value) {
    if (!one.is_string()) return fail(Errc::invalid, "must be a list of texts");
    all.push_back(one.get<std::string>());
  }
  return all;
}

// {"K": "V"}, the same as JSON in a string, or a list of K=V.
Result<std::vector<std::string>> as_variables(Json value) {
  if (value.is_string()) {
    if (Json parsed = Json::parse(value.get<std::string>(), nullptr, false); parsed.is_object())
      value = std::move(parsed);
  }
  if (!value.is_object()) return as_list(std::move(value));
  std::vector<std::string> all;
  for (const auto& [name, one] : value.items()) {
    COVE_TRY(const std::string text, as_text(one));
    all.push_back(name + "=" + text);
  }
  return all;
}

Result<void> set_duration(std::chrono::milliseconds& time, const Json& value) {
  COVE_TRY(const std::string text, as_text(value));
  COVE_TRY(time, parse_duration(text));
  return {};
}

// A plain number of megabytes is how agents' frameworks speak of memory and disks.
Result<void> set_size(std::uint64_t& bytes, const Json& value) {
  COVE_TRY(std::string text, as_text(value));
  if (value.is_number()) text += "m";
  COVE_TRY(bytes, parse_size(text));
  return {};
}

// Whoever comes later can forbid more, not less.
Result<void> add_patterns(std::vector<std::string>& patterns, const Json& value) {
  COVE_TRY(const auto more, as_list(value));
  patterns.insert(patterns.end(), more.begin(), more.end());
  return {};
}

using Setter = Result<void> (*)(Settings&, const Json&);
struct Key {
  std::string_view name;
  Setter set;
};

const Key kKeys[] = {
    {"timeout", [](Settings& s, const Json& v) { return set_duration(s.timeout, v); }},
    {"lifetime", [](Settings& s, const Json& v) { return set_duration(s.lifetime, v); }},
    {"idle_timeout", [](Settings& s, const Json& v) { return set_duration(s.lifetime, v); }},
    {"max_foreground_timeout", [](Settings& s, const Json& v) { return set_duration(s.max_foreground, v); }},
    {"memory", [](Settings& s, const Json& v) { return set_size(s.spec.memory_bytes, v); }},
    {"disk", [](Settings& s, const Json& v) { return set_size(s.spec.disk_bytes, v); }},
    {"persistent",
     [](Settings& s, const Json& v) -> Result<void> {
       COVE_TRY(const std::string text, as_text(v));
       COVE_TRY(s.spec.persistent, parse_bool(text));
       return {};
     }},
    {"cwd",
     [](Settings& s, const Json& v) -> Result<void> {
       COVE_TRY(s.spec.cwd, as_text(v));
       return {};
     }},
    {"env",
     [](Settings& s, const Json& v) -> Result<void> {
       COVE_TRY(s.env, as_variables(v));
       return {};
     }},
    {"forward_env",
     [](Settings& s, const Json& v) -> Result<void> {
       COVE_TRY(s.forward_env, as_list(v));
       return {};
     }},
    {"volumes",
     [](Settings& s, const Json& v) -> Result<void> {
       COVE_TRY(s.spec.volumes, as_list(v));
       return {};
     }},
    {"max_output_chars",
     [](Settings& s, const Json& v) -> Result<void> {
       COVE_TRY(const std::string text, as_text(v));
       COVE_TRY(const auto count, parse_count(text));
       if (count < 1000) return fail(Errc::invalid, "must be at least 1000");
       s.output_chars = count;
       return {};
     }},
    {"degraded_mode",
     [](Settings& s, const Json& v) -> Result<void> {
       COVE_TRY(const std::string text, as_text(v));
       if (text != "fail" && text != "degraded") return fail(Errc::invalid, "must be 'degraded' or 'fail'");
       s.fail_when_degraded = text == "fail";
       return {};
     }},
    {"ask_program",
     [](Settings& s, const Json& v) -> Result<void> {
       COVE_TRY(s.ask_program, as_text(v));
       return {};
     }},
    {"ask_timeout", [](Settings& s, const Json& v) { return set_duration(s.ask_timeout, v); }},
    {"deny", [](Settings& s, const Json& v) { return add_patterns(s.deny, v); }},
    {"ask", [](Settings& s, const Json& v) { return add_patterns(s.ask, v); }},
};

std::string known() {
  std::string all = spec::known_keys();
  for (const Key& key : kKeys) all += ", " + std::string(key.name);
  return all;
}

// How a framework says the same of one task.
std::string plain_key(const std::string& key) {
  if (key == "env_type") return "backend";
  if (key == "cpu") return "cpus";
  if (key.ends_with("_image")) return "image";
  return key;
}

// What the file says, as long as it is the same file.
struct FileStamp {
  std::string path;
  timespec changed{};
  off_t size = -1;
  ino_t inode = 0;
  bool operator==(const FileStamp& other) const {
    return path == other.path && changed.tv_sec == other.changed.tv_sec && changed.tv_nsec == other.changed.tv_nsec &&
           size == other.size && inode == other.inode;
  }
};

FileStamp stamp_of(const std::string& path) {
  struct stat about{};
  if (path.empty() || stat(path.c_str(), &about) < 0) return {.path = path};
  return {.path = path, .changed = about.st_mtim, .size = about.st_size, .inode = about.st_ino};
}

Result<Settings> parse_file(const std::string& path) {
  Settings settings;
  if (path.empty()) return settings;
  COVE_CHECK(spec::read_configuration_file(path, settings.spec));
  if (settings.spec.timeout_ms != 0) settings.timeout = std::chrono::milliseconds(settings.spec.timeout_ms);
  if (settings.spec.idle_timeout_ms != 0) settings.lifetime = std::chrono::milliseconds(settings.spec.idle_timeout_ms);
  COVE_TRY(const auto entries, read_terminal_table(path));
  for (const TableEntry& entry : entries) {
    auto applied = apply_setting(settings, entry.key, *entry.value);
    if (!applied) return fail(Errc::invalid, entry.where + ": " + applied.error().message);
  }
  return settings;
}

Result<Settings> read_file() {
  static std::mutex mutex;
  static FileStamp known_stamp;
  static Settings known_settings;
  const std::string path = spec::configuration_path();
  const FileStamp stamp = stamp_of(path);
  const std::lock_guard guard(mutex);
  if (known_stamp == stamp && !stamp.path.empty()) return known_settings;
  COVE_TRY(known_settings, parse_file(path));
  known_stamp = stamp;
  return known_settings;
}

std::string upper(std::string_view key) {
  std::string name;
  for (const char c : key) name += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return name;
}

Result<void> apply_variable(Settings& settings, const policy::HostEnv& host, const std::string& name,
                            std::string_view key) {
  const std::string* value = find_variable(host, name);
  if (value == nullptr) return {};
  auto applied = apply_setting(settings, std::string(key), Json(*value));
  return applied ? applied : fail(std::move(applied).error().because(name));
}

Result<void> apply_variables(Settings& settings, const policy::HostEnv& host) {
  for (const spec::Setting& setting : spec::settings())
    COVE_CHECK(apply_variable(settings, host, spec::environment_name(setting), setting.key));
  for (const spec::Setting& setting : spec::settings())
    COVE_CHECK(apply_variable(settings, host, "COVE_TERMINAL_" + upper(setting.key), setting.key));
  for (const Key& key : kKeys) {
    COVE_CHECK(apply_variable(settings, host, "COVE_TERMINAL_" + upper(key.name), key.name));
  }
  return {};
}

// A few of many: they are asked for by name some sixty times.
policy::HostEnv ours(const policy::HostEnv& everything) {
  policy::HostEnv few;
  for (const auto& variable : everything) {
    const std::string_view name = variable.first;
    if (name.starts_with("COVE_") || name.starts_with("TERMINAL_") || name.starts_with("HERMES_"))
      few.push_back(variable);
  }
  return few;
}

}  // namespace

Result<bool> parse_bool(std::string_view text) {
  const std::string word = upper(text);
  for (const std::string_view yes : {"TRUE", "1", "YES", "ON"}) {
    if (word == yes) return true;
  }
  for (const std::string_view no : {"FALSE", "0", "NO", "OFF"}) {
    if (word == no) return false;
  }
  return fail(Errc::invalid, "'" + std::string(text) + "' is neither true nor false");
}

const std::string* find_variable(const policy::HostEnv& host, std::string_view name) {
  for (const auto& [key, value] : host) {
    if (key == name) return value.empty() ? nullptr : &value;
  }
  return nullptr;
}

Result<void> apply_setting(Settings& settings, const std::string& given, const Json& value) {
  const std::string key = plain_key(given);
  for (const Key& known_key : kKeys) {
    if (known_key.name != key) continue;
    auto set = known_key.set(settings, value);
    return set ? set : fail(std::move(set).error().because(given));
  }
  for (const spec::Setting& setting : spec::settings()) {
    if (setting.key != key) continue;
    COVE_TRY(const std::string text, as_text(value));
    auto set = setting.set(settings.spec, text);
    if (set) settings.given.push_back(key);
    return set ? set : fail(std::move(set).error().because(given));
  }
  return fail(Errc::invalid, "unknown key '" + given + "' (known keys: " + known() + ")");
}

Result<Settings> read_settings(const policy::HostEnv& everything, const Json& overrides) {
  COVE_TRY(Settings settings, read_file());
  const policy::HostEnv host = ours(everything);
  COVE_CHECK(apply_reference(settings, host));
  COVE_CHECK(apply_variables(settings, host));
  settings.given.clear();  // the above are defaults: an option that the backend does not have is dropped
  if (overrides.is_object()) {
    for (const auto& [key, value] : overrides.items()) COVE_CHECK(apply_setting(settings, key, value));
  } else if (!overrides.is_null()) {
    return fail(Errc::invalid, "overrides: must be an object");
  }
  if (settings.spec.backend.empty()) settings.spec.backend = kAuto.name;
  if (settings.spec.cwd.empty()) settings.spec.cwd = usual_directory(settings.spec);
  if (traits_of(settings.spec.backend).is_this_machine && !settings.spec.cwd.starts_with('/') &&
      !settings.spec.cwd.starts_with('~'))
    settings.spec.cwd = usual_directory(settings.spec) + "/" + settings.spec.cwd;
  settings.spec.timeout_ms = 0;  // each command brings its own
  settings.spec.idle_timeout_ms = static_cast<std::uint64_t>(settings.lifetime.count());
  return settings;
}

}  // namespace cove::terminal
