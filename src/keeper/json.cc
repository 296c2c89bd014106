#include "keeper/json.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "record/outcome_json.h"

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

Json spec_json(const SandboxSpec& spec) {
  Json names = Json::array();
  for (const auto& [key, value] : spec.env) names.push_back(key);
  return Json{{"image", spec.image},
              {"user", spec.user},
              {"engine", spec.engine},
              {"runtime", spec.runtime},
              {"accel", spec.accel},
              {"kernel", spec.kernel},
              {"net", spec.net},
              {"cwd", spec.cwd},
              {"env_names", names},
              {"env_names_forwarded", spec.env_names_forwarded},
              {"volumes", spec.volumes},
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
              {"owned", spec.owned}};
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
