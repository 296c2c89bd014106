#include "backend/table.h"
#include "base/text.h"
#include "cli/print.h"
#include "cli/rows.h"
#include "cli/subcommand.h"

namespace cove::cli {
namespace {

constexpr std::chrono::seconds kProbeTime{10};

struct DoctorOptions {
  bool json = false;
  std::vector<std::string> names;  // none: all
};

void define(Arguments& arguments, DoctorOptions& options) {
  arguments.flag("--json", options.json, "Print a JSON array");
  arguments.rest("BACKEND", options.names, Need::optional);
}

Result<std::vector<Backend*>> chosen(const std::vector<std::string>& names) {
  if (names.empty()) return all_backends();
  std::vector<Backend*> backends;
  for (const std::string& name : names) {
    COVE_TRY(Backend* const backend, find_backend(name));
    backends.push_back(backend);
  }
  return backends;
}

std::string probe_json(std::string_view name, const Probe& probe) {
  std::string capabilities;
  for (const std::string& each : probe.capabilities.texts()) {
    capabilities += (capabilities.empty() ? "" : ", ") + json_quote(each);
  }
  return "{\"backend\": " + json_quote(name) + ", \"usable\": " + (probe.usable ? "true" : "false") +
         ", \"version\": " + json_quote(probe.version) + ", \"capabilities\": [" + capabilities +
         "], \"why_not\": " + (probe.usable ? "null" : json_quote(probe.why_not)) + "}";
}

Row to_row(std::string_view name, const Probe& probe) {
  return {std::string(name), probe.usable ? tinted(Tint::green, "usable") : tinted(Tint::red, "not usable"),
          probe.version.empty() ? "-" : probe.version,
          probe.usable ? join_words(probe.capabilities.texts()) : probe.why_not};
}

int run(Arguments&, DoctorOptions& options) {
  const auto backends = chosen(options.names);
  if (!backends) return report(backends.error());
  std::vector<Row> rows{{tinted(Tint::bold, "BACKEND"), tinted(Tint::bold, "HERE"), tinted(Tint::bold, "VERSION"),
                         tinted(Tint::bold, "CAN DO, OR WHY NOT")}};
  std::vector<std::string> elements;
  for (Backend* backend : *backends) {
    const Probe probe = backend->probe(Deadline::after(kProbeTime));
    rows.push_back(to_row(backend->name(), probe));
    elements.push_back(probe_json(backend->name(), probe));
  }
  if (options.json)
    print(json_array(elements));
  else
    print_table(rows);
  return 0;
}

}  // namespace

const Command kDoctor{
    .name = "doctor",
    .usage = "[--json] [BACKEND...]",
    .summary = "Show which backends work here, why others do not, and their capabilities",
    .examples = "  cove doctor\n  cove doctor native microvm\n  cove doctor --json",
    .run = run_with<DoctorOptions>,
    .describe = describe_with<DoctorOptions>,
};

}  // namespace cove::cli
