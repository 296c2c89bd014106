#include "capi/get_sandbox.h"

#include <nlohmann/json.hpp>

#include "spec/settings.h"
#include "terminal/make_sandbox.h"

namespace cove::capi {
namespace {

using Json = nlohmann::json;
using terminal::Settings;

Result<void> read_text(const Json& value, const std::string& key, std::string& text) {
  if (!value.is_string()) return fail(Errc::invalid, key + ": must be text");
  text = value.get<std::string>();
  return {};
}

Result<void> read_bool(const Json& value, const std::string& key, bool& truth) {
  if (!value.is_boolean()) return fail(Errc::invalid, key + ": must be true or false");
  truth = value.get<bool>();
  return {};
}

Result<void> take(Settings& settings, std::optional<bool>& owned, const std::string& key, const Json& value) {
  SandboxSpec& spec = settings.spec;
  if (value.is_null() || key == "verb") return {};
  if (key == "name") return read_text(value, key, spec.name);
  if (key == "user") return read_text(value, key, spec.user);
  if (key == "from") return read_text(value, key, spec.from);
  if (key == "pull") return read_text(value, key, spec.pull);
  if (key == "checkpoint") return read_bool(value, key, spec.checkpoint);
  if (key == "login") return read_bool(value, key, spec.login);
  if (key == "prepared") return read_bool(value, key, spec.prepared);
  if (key == "owned") return read_bool(value, key, owned.emplace());
  return apply_setting(settings, key, value);
}

Result<Sandbox> create(const Json& request, const Call& call) {
  Settings settings;
  settings.timeout = settings.lifetime = std::chrono::milliseconds(0);
  COVE_CHECK(spec::read_configuration(settings.spec));
  std::optional<bool> owned;
  for (const auto& [key, value] : request.items()) COVE_CHECK(take(settings, owned, key, value));
  SandboxSpec& wanted = settings.spec;
  wanted.owned = owned.value_or(!wanted.persistent);
  if (settings.timeout.count() > 0) wanted.timeout_ms = static_cast<std::uint64_t>(settings.timeout.count());
  if (settings.lifetime.count() > 0) wanted.idle_timeout_ms = static_cast<std::uint64_t>(settings.lifetime.count());
  COVE_TRY(const SandboxSpec spec, terminal::complete_spec(settings));
  return Sandbox::create(spec, call);
}

}  // namespace

Result<Sandbox> get_sandbox(const Json& request, const Call& call) {
  if (!request.is_object()) return fail(Errc::invalid, "the request is not a JSON object");
  const std::string verb = request.value("verb", "");
  if (verb == "create") return create(request, call);
  const std::string name = request.value("name", "");
  if (verb == "open") return Sandbox::open(name);
  if (verb == "restart") return Sandbox::restart(name, call);
  return fail(Errc::invalid, "verb '" + verb + "': there are create, open and restart");
}

}  // namespace cove::capi
