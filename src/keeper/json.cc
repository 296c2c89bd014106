#include "keeper/json.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "record/outcome_json.h"
#include "record/spec_json.h"

namespace cove::keeper {
namespace {

using Json = nlohmann::json;

Json outcome_json(const proto::Outcome& outcome) {
  Json json = record::outcome_json(outcome);
  json["state"] = outcome.ending == proto::Ending::running ? "running" : "ended";
  if (!outcome.text.empty()) json["command"] = outcome.text;
  if (!outcome.error_text.empty()) json["error"] = outcome.error_text;
  return json;
}

// Options of the backend stand beside the others; what is said above is not repeated.
Json spec_json(const SandboxSpec& spec) {
  Json json = record::spec_fields_json(spec);
  json.update(Json(json["options"]));
  for (const char* key : {"options", "name", "backend"}) json.erase(key);
  json["env_names"] = Json::array();
  for (const auto& [key, value] : spec.env) json["env_names"].push_back(key);
  return json;
}

}  // namespace

std::string to_json(const proto::Outcome& outcome) { return json_text(outcome_json(outcome)); }

std::string to_json(const std::vector<proto::Outcome>& outcomes) {
  Json all = Json::array();
  for (const proto::Outcome& outcome : outcomes) all.push_back(outcome_json(outcome));
  return json_text(all);
}

std::string to_json(const Inspection& what) {
  Json json{{"name", what.info.name},
            {"backend", what.info.spec.backend},
            {"state", "running"},
            {"created", what.info.created_unix},
            {"spec", spec_json(what.info.spec)},
            {"keeper_pid", getpid()},
            {"guest_pid", what.guest.pid},
            {"shell", what.guest.shell},
            {"sessions", what.sessions},
            {"commands_running", what.commands_running},
            {"commands_unfinished", what.commands_unfinished},
            {"idle_ms", what.idle_ms}};
  if (!what.notes.empty()) json["notes"] = what.notes;
  if (!what.proof.empty()) json["proof"] = Json::parse(what.proof, nullptr, false);
  return json_text(json);
}

}  // namespace cove::keeper
