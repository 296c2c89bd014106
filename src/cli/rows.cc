#include "cli/rows.h"

#include "base/text.h"
#include "cli/live.h"

namespace cove::cli {

std::string to_json(const record::Info& info) {
  const auto yes_no = [](bool value) { return value ? "true" : "false"; };
  std::string out = "{\"name\": " + json_quote(info.name) + ", \"state\": " + json_quote(record::state_of(info)) +
                    ", \"backend\": " + json_quote(info.spec.backend) +
                    ", \"created\": " + std::to_string(info.created_unix) +
                    ", \"persistent\": " + yes_no(info.spec.persistent) + ", \"owned\": " + yes_no(info.spec.owned) +
                    ", \"keeper_pid\": " + (info.keeper_pid > 0 ? std::to_string(info.keeper_pid) : "null");
  if (!info.why.empty()) out += ", \"why\": " + json_quote(info.why);
  return out + "}";
}

std::string to_json(const Outcome& outcome) {
  const bool running = outcome.ending == Ending::running;
  std::string out = "{\"id\": " + json_quote(outcome.id) + ", \"outcome\": " + json_quote(ending_name(outcome.ending)) +
                    ", \"exit_code\": " + (running ? "null" : std::to_string(exit_code_of(outcome))) +
                    ", \"signal\": " + (outcome.signal == 0 ? "null" : std::to_string(outcome.signal)) +
                    ", \"cwd\": " + json_quote(outcome.cwd) +
                    ", \"duration_ms\": " + std::to_string((outcome.duration_us + 500) / 1000) +
                    ", \"output_bytes\": " + std::to_string(outcome.output_bytes) +
                    ", \"truncated\": " + (outcome.truncated ? "true" : "false");
  if (!outcome.detail.empty()) out += ", \"detail\": " + json_quote(outcome.detail);
  if (!outcome.hint.empty()) out += ", \"hint\": " + json_quote(outcome.hint);
  return out + "}";
}

std::string json_array(const std::vector<std::string>& elements) {
  std::string out = "[";
  for (const std::string& element : elements) out += (out.size() > 1 ? ",\n " : "") + element;
  return out + "]\n";
}

}  // namespace cove::cli
