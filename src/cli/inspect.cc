#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/print.h"
#include "cli/rows.h"
#include "cli/subcommand.h"

namespace cove::cli {
namespace {

struct InspectOptions {
  std::string name;
  bool json = false;
};

void define(Arguments& arguments, InspectOptions& options) {
  arguments.flag("--json", options.json, "Print JSON (includes details reported by a running sandbox)");
  arguments.positional("NAME", options.name, Need::required, "The sandbox");
}

void add_limits(std::vector<Row>& rows, const SandboxSpec& spec) {
  const auto time = [&](const char* name, std::uint64_t ms) {
    if (ms != 0) rows.push_back({name, seconds_text(std::chrono::milliseconds(ms))});
  };
  time("timeout", spec.timeout_ms);
  time("idle timeout", spec.idle_timeout_ms);
  time("max duration", spec.max_duration_ms);
  if (spec.memory_bytes != 0) rows.push_back({"memory", size_text(spec.memory_bytes)});
  if (spec.disk_bytes != 0) rows.push_back({"disk", size_text(spec.disk_bytes)});
  if (spec.pids != 0) rows.push_back({"pids", std::to_string(spec.pids)});
  rows.push_back({"log cap", size_text(spec.log_cap_bytes)});
}

// "24 walls held, none broke"
std::string proof_text(const std::string& proof) {
  const auto json = nlohmann::json::parse(proof, nullptr, false);
  if (!json.is_object() || !json.contains("attempts")) return "damaged";
  std::size_t held = 0, skipped = 0;
  std::string broken;
  for (const auto& attempt : json["attempts"]) {
    const std::string result = attempt.value("result", "");
    if (result == "held")
      ++held;
    else if (result == "not_applicable")
      ++skipped;
    else
      broken += (broken.empty() ? "" : ", ") + attempt.value("name", "?");
  }
  return std::to_string(held) + " walls held, " + (broken.empty() ? "none broke" : "broken: " + broken) +
         (skipped > 0 ? ", " + std::to_string(skipped) + " not applicable" : "");
}

void show(const record::Info& info, const Result<std::string>& proof) {
  std::vector<Row> rows{{"name", tinted(Tint::bold, info.name)},
                        {"state", std::string(record::state_of(info))},
                        {"backend", info.spec.backend},
                        {"persistent", info.spec.persistent ? "yes" : "no"}};
  if (!info.why.empty()) rows.push_back({"why", info.why});
  if (info.keeper_pid > 0) rows.push_back({"keeper", std::to_string(info.keeper_pid)});
  if (!info.spec.image.empty()) rows.push_back({"image", info.spec.image});
  if (!info.spec.net.empty()) rows.push_back({"net", info.spec.net});
  if (!info.spec.cwd.empty()) rows.push_back({"cwd", info.spec.cwd});
  for (const std::string& volume : info.spec.volumes) rows.push_back({"volume", volume});
  if (info.spec.sys) rows.push_back({"sys", "read-only"});
  if (proof) rows.push_back({"proof", proof_text(*proof)});
  add_limits(rows, info.spec);
  print_table(rows);
}

// A running sandbox is asked itself; of one that does not run the record tells what is known.
int show_json(const record::Info& info) {
  if (info.life == record::Life::running) {
    auto sandbox = Sandbox::open(info.name);
    if (!sandbox) return report(sandbox.error());
    const auto json = sandbox->inspect();
    if (!json) return report(json.error());
    print(*json + "\n");
  } else {
    print(to_json(info) + "\n");
  }
  return 0;
}

int run(Arguments&, InspectOptions& options) {
  const auto opened = record::Record::open(options.name);
  if (!opened) return report(opened.error());
  const auto info = opened->info();
  if (!info) return report(info.error());
  if (options.json) return show_json(*info);
  show(*info, opened->proof());
  return 0;
}

}  // namespace

const Command kInspect{
    .name = "inspect",
    .usage = "NAME [--json]",
    .summary = "Show configuration and state of a sandbox",
    .examples = "  cove inspect t\n  cove inspect t --json | jq .state",
    .run = run_with<InspectOptions>,
    .describe = describe_with<InspectOptions>,
};

}  // namespace cove::cli
