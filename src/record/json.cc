#include "record/json.h"

#include <algorithm>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "record/outcome_json.h"

namespace cove::record {
namespace {

using Json = nlohmann::json;

// Values come from users and guests and may be no UTF-8: then they are kept readable, not byte-exact.

template <class T>
T get(const Json& object, const char* key, T fallback) {
  const auto found = object.find(key);
  if (found == object.end()) return fallback;
  if constexpr (std::is_same_v<T, bool>) {
    return found->is_boolean() ? found->template get<bool>() : fallback;
  } else if constexpr (std::is_arithmetic_v<T>) {
    return found->is_number() ? found->template get<T>() : fallback;
  } else {
    return found->is_string() ? found->template get<std::string>() : fallback;
  }
}

std::vector<std::string> get_strings(const Json& object, const char* key) {
  std::vector<std::string> all;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return all;
  for (const Json& item : *found) {
    if (item.is_string()) all.push_back(item.get<std::string>());
  }
  return all;
}

// Names of everything, values only of what a persistent sandbox needs again and was not forwarded.
Json env_to_json(const SandboxSpec& spec) {
  Json env = Json::array();
  for (const auto& [key, value] : spec.env) {
    const auto& forwarded = spec.env_names_forwarded;
    const bool keep = spec.persistent && std::find(forwarded.begin(), forwarded.end(), key) == forwarded.end();
    env.push_back(keep ? Json::array({key, value}) : Json::array({key}));
  }
  return env;
}

void env_from_json(const Json& stored, SandboxSpec& spec) {
  if (!stored.is_array()) return;
  for (const Json& item : stored) {
    if (!item.is_array() || item.empty() || !item[0].is_string()) continue;
    const bool has_value = item.size() > 1 && item[1].is_string();
    spec.env.emplace_back(item[0].get<std::string>(), has_value ? item[1].get<std::string>() : "");
  }
}

constexpr std::string_view kEndings[] = {"running", "exited", "signaled", "timeout", "interrupted", "oom", "lost"};

std::int64_t unix_ms() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

proto::Outcome outcome_from_json(const Json& line) {
  proto::Outcome outcome;
  outcome.id = get<std::string>(line, "end", "");
  outcome.ending = ending_of(get<std::string>(line, "outcome", "lost"));
  outcome.exit_code = get(line, "exit_code", 125);
  outcome.signal = get(line, "signal", 0);
  outcome.cwd = get<std::string>(line, "cwd", "");
  outcome.duration_us = get<std::uint64_t>(line, "duration_us", 0);
  outcome.output_bytes = get<std::uint64_t>(line, "output_bytes", 0);
  outcome.truncated = get(line, "truncated", false);
  outcome.detail = get<std::string>(line, "detail", "");
  outcome.error_text = get<std::string>(line, "error", "");
  outcome.error = static_cast<Errc>(std::clamp(get(line, "error_code", 0), 0, static_cast<int>(last(Errc{}))));
  return outcome;
}

}  // namespace

std::string spec_to_json(const StoredSpec& stored) {
  const SandboxSpec& spec = stored.spec;
  return json_text(Json{{"version", 1},
                        {"created", stored.created_unix},
                        {"writing", stored.writing},
                        {"name", spec.name},
                        {"backend", spec.backend},
                        {"image", spec.image},
                        {"image_layers", spec.image_layers},
                        {"user", spec.user},
                        {"layers", spec.layers},
                        {"checkpoint", spec.checkpoint},
                        {"engine", spec.engine},
                        {"runtime", spec.runtime},
                        {"accel", spec.accel},
                        {"kernel", spec.kernel},
                        {"net", spec.net},
                        {"cwd", spec.cwd},
                        {"env", env_to_json(spec)},
                        {"forwarded", spec.env_names_forwarded},
                        {"volumes", spec.volumes},
                        {"copies_began_ns", spec.copies_began_ns},
                        {"cpus", spec.cpus},
                        {"memory_bytes", spec.memory_bytes},
                        {"disk_bytes", spec.disk_bytes},
                        {"pids", spec.pids},
                        {"timeout_ms", spec.timeout_ms},
                        {"idle_timeout_ms", spec.idle_timeout_ms},
                        {"max_duration_ms", spec.max_duration_ms},
                        {"log_cap_bytes", spec.log_cap_bytes},
                        {"persistent", spec.persistent},
                        {"sys", spec.sys},
                        {"login", spec.login},
                        {"owned", spec.owned}}) +
         "\n";
}

Result<StoredSpec> spec_from_json(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return fail(Errc::invalid, "spec.json is damaged: remove the sandbox with 'cove rm --force'");
  StoredSpec stored;
  SandboxSpec& spec = stored.spec;
  stored.created_unix = get<std::int64_t>(json, "created", 0);
  stored.writing = get<unsigned>(json, "writing", 0);
  spec.name = get<std::string>(json, "name", "");
  spec.backend = get<std::string>(json, "backend", "");
  spec.image = get<std::string>(json, "image", "");
  spec.image_layers = get_strings(json, "image_layers");
  spec.user = get<std::string>(json, "user", "");
  spec.layers = get_strings(json, "layers");
  spec.copies_began_ns = get<std::int64_t>(json, "copies_began_ns", 0);
  spec.checkpoint = get(json, "checkpoint", false);
  spec.engine = get<std::string>(json, "engine", "");
  spec.runtime = get<std::string>(json, "runtime", "");
  spec.accel = get<std::string>(json, "accel", "");
  spec.kernel = get<std::string>(json, "kernel", "");
  spec.net = get<std::string>(json, "net", "");
  spec.cwd = get<std::string>(json, "cwd", "");
  env_from_json(json.value("env", Json::array()), spec);
  spec.env_names_forwarded = get_strings(json, "forwarded");
  spec.volumes = get_strings(json, "volumes");
  spec.cpus = get(json, "cpus", 0.0);
  spec.memory_bytes = get<std::uint64_t>(json, "memory_bytes", 0);
  spec.disk_bytes = get<std::uint64_t>(json, "disk_bytes", 0);
  spec.pids = get<std::uint32_t>(json, "pids", 0);
  spec.timeout_ms = get<std::uint64_t>(json, "timeout_ms", 0);
  spec.idle_timeout_ms = get<std::uint64_t>(json, "idle_timeout_ms", 0);
  spec.max_duration_ms = get<std::uint64_t>(json, "max_duration_ms", 0);
  spec.log_cap_bytes = get<std::uint64_t>(json, "log_cap_bytes", spec.log_cap_bytes);
  spec.persistent = get(json, "persistent", false);
  spec.sys = get(json, "sys", false);
  spec.login = get(json, "login", true);
  spec.owned = get(json, "owned", false);
  return stored;
}

std::string status_to_json(Life life, const std::string& why) {
  return json_text(Json{{"life", life == Life::stopped ? "stopped" : "failed"}, {"why", why}}) + "\n";
}

StoredStatus status_from_json(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return {Life::failed, "status.json is damaged: nobody knows how it ended"};
  return {get<std::string>(json, "life", "") == "stopped" ? Life::stopped : Life::failed,
          get<std::string>(json, "why", "")};
}

// By hand: this stands between a client and its command. The keeper lets only plain ids through.
std::string started_line(const std::string& id) {
  const bool plain =
      std::all_of(id.begin(), id.end(), [](char c) { return c > ' ' && c < 127 && c != '"' && c != '\\'; });
  const std::string quoted = plain ? '"' + id + '"' : json_text(Json(id));
  return "{\"start\":" + quoted + ",\"at\":" + std::to_string(unix_ms()) + "}\n";
}

std::string ended_line(const proto::Outcome& outcome) {
  Json line{{"end", outcome.id},
            {"at", unix_ms()},
            {"outcome", name(outcome.ending)},
            {"exit_code", outcome.exit_code},
            {"duration_us", outcome.duration_us},
            {"output_bytes", outcome.output_bytes}};
  if (outcome.signal != 0) line["signal"] = outcome.signal;
  if (!outcome.cwd.empty()) line["cwd"] = outcome.cwd;
  if (outcome.truncated) line["truncated"] = true;
  if (!outcome.detail.empty()) line["detail"] = outcome.detail;
  if (!outcome.error_text.empty()) {
    line["error"] = outcome.error_text;
    line["error_code"] = static_cast<int>(outcome.error);
  }
  return json_text(line) + "\n";
}

std::vector<proto::Outcome> parse_journal(std::string_view text) {
  std::vector<proto::Outcome> all;
  std::map<std::string, std::size_t> index;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const Json line = Json::parse(text.substr(0, end), nullptr, false);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.is_object()) continue;
    if (const std::string id = get<std::string>(line, "start", ""); !id.empty()) {
      if (index.emplace(id, all.size()).second) all.emplace_back().id = id;
    } else if (const auto known = index.find(get<std::string>(line, "end", "")); known != index.end()) {
      all[known->second] = outcome_from_json(line);
    }
  }
  return all;
}

std::string_view name(proto::Ending ending) { return kEndings[static_cast<std::size_t>(ending)]; }

proto::Ending ending_of(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kEndings); ++i) {
    if (kEndings[i] == name) return static_cast<proto::Ending>(i);
  }
  return proto::Ending::lost;
}

nlohmann::json outcome_json(const proto::Outcome& outcome) {
  const bool running = outcome.ending == proto::Ending::running;
  Json json{{"id", outcome.id},
            {"outcome", name(outcome.ending)},
            {"exit_code", running ? Json() : Json(outcome.exit_code)},
            {"signal", outcome.signal},
            {"cwd", outcome.cwd},
            {"duration_ms", static_cast<double>(outcome.duration_us) / 1000.0},
            {"output_bytes", outcome.output_bytes},
            {"truncated", outcome.truncated}};
  if (outcome.pid != 0) json["pid"] = outcome.pid;
  if (!outcome.detail.empty()) json["detail"] = outcome.detail;
  if (!outcome.hint.empty()) json["hint"] = outcome.hint;
  return json;
}

}  // namespace cove::record
