#include "client/json.h"

#include <nlohmann/json.hpp>

namespace cove {
namespace {

using Json = nlohmann::json;

Ending ending_of(const std::string& name) {
  constexpr std::pair<std::string_view, Ending> kNames[] = {
      {"running", Ending::running},         {"exited", Ending::exited}, {"signaled", Ending::signaled},
      {"timeout", Ending::timeout},         {"oom", Ending::oom},       {"lost", Ending::lost},
      {"interrupted", Ending::interrupted},
  };
  for (const auto& [word, ending] : kNames) {
    if (word == name) return ending;
  }
  return Ending::lost;
}

template <class T>
T value_or(const Json& json, const char* key, T fallback) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return fallback;
  return found->get<T>();
}

Outcome to_outcome(const Json& json) {
  Outcome outcome;
  outcome.id = value_or<std::string>(json, "id", "");
  outcome.ending = ending_of(value_or<std::string>(json, "outcome", "lost"));
  outcome.exit_code = value_or(json, "exit_code", 0);
  outcome.signal = value_or(json, "signal", 0);
  outcome.cwd = value_or<std::string>(json, "cwd", "");
  const auto from_ms = static_cast<std::uint64_t>(value_or(json, "duration_ms", 0.0) * 1000);
  outcome.duration_us = value_or<std::uint64_t>(json, "duration_us", from_ms);
  outcome.output_bytes = value_or<std::uint64_t>(json, "output_bytes", 0);
  outcome.truncated = value_or(json, "truncated", false);
  outcome.detail = value_or<std::string>(json, "detail", "");
  outcome.hint = value_or<std::string>(json, "hint", "");
  outcome.pid = value_or<std::uint32_t>(json, "pid", 0);
  outcome.text = value_or<std::string>(json, "command", "");
  return outcome;
}

// nlohmann throws on a wrong type; here that is a protocol error like any other.
template <class Work>
auto guarded(std::string_view text, Work work) -> Result<decltype(work(Json()))> {
  try {
    return work(Json::parse(text));
  } catch (const Json::exception& e) {
    return fail(Errc::protocol, std::string("the keeper's JSON is not understood: ") + e.what());
  }
}

}  // namespace

Result<Outcome> parse_outcome(std::string_view json) {
  return guarded(json, [](const Json& parsed) { return to_outcome(parsed); });
}

Result<std::vector<Outcome>> parse_outcomes(std::string_view json) {
  return guarded(json, [](const Json& parsed) {
    std::vector<Outcome> all;
    for (const Json& one : parsed) all.push_back(to_outcome(one));
    return all;
  });
}

}  // namespace cove
