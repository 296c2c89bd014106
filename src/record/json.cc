#include "record/json.h"

#include <algorithm>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>

#include "backend/traits.h"
#include "base/json_text.h"
#include "record/outcome_json.h"
#include "record/spec_json.h"

namespace cove::record {
namespace {

using Json = nlohmann::json;

constexpr int kSpecVersion = 2;

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

// A field of spec.json as it is in a spec. What is missing or of another type leaves the field as it is.
template <class T>
void read_field(const Json& json, const char* key, T& field) {
  field = get(json, key, field);
}

void read_field(const Json& json, const char* key, std::vector<std::string>& field) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_array()) return;
  for (const Json& item : *found) {
    if (item.is_string()) field.push_back(item.get<std::string>());
  }
}

void read_field(const Json& json, const char* key, Pairs& field) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_object()) return;
  for (const auto& [name, value] : found->items()) {
    if (value.is_string()) field.emplace_back(name, value.get<std::string>());
  }
}

// Records of version 1 had another name for it, and each backend's options among the others.
void read_version_1(const Json& json, SandboxSpec& spec) {
  read_field(json, "forwarded", spec.env_names_forwarded);
  for (const Traits& backend : kBackends) {
    for (const BackendOption& option : backend.options) {
      if (auto value = get<std::string>(json, std::string(option.key).c_str(), ""); !value.empty())
        spec.set_option(option.key, std::move(value));
    }
  }
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

nlohmann::json spec_fields_json(const SandboxSpec& spec) {
  Json json = Json::object();
  SandboxSpec::each_field(spec, [&](const char* name, const auto& field, unsigned uses) {
    if ((uses & kStored) == 0) return;
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(field)>, Pairs>) {
      json[name] = Json::object();
      for (const auto& [key, value] : field) json[name][key] = value;
    } else {
      json[name] = field;
    }
  });
  return json;
}

std::string spec_to_json(const StoredSpec& stored) {
  Json json = spec_fields_json(stored.spec);
  json["version"] = kSpecVersion;
  json["created"] = stored.created_unix;
  json["writing"] = stored.writing;
  json["env"] = env_to_json(stored.spec);
  return json_text(json) + "\n";
}

Result<StoredSpec> spec_from_json(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return fail(Errc::invalid, "spec.json is damaged: remove the sandbox with 'cove rm --force'");
  StoredSpec stored;
  stored.spec.backend.clear();
  stored.created_unix = get<std::int64_t>(json, "created", 0);
  stored.writing = get<unsigned>(json, "writing", 0);
  SandboxSpec::each_field(stored.spec, [&](const char* name, auto& field, unsigned uses) {
    if ((uses & kStored) != 0) read_field(json, name, field);
  });
  if (get(json, "version", 1) == 1) read_version_1(json, stored.spec);
  env_from_json(json.value("env", Json::array()), stored.spec);
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
