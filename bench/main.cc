// cove-bench: what Cove promises about speed and size, measured in one run beside the bare thing.
//   --json    one JSON array instead of the table
//   --check   exit with 1 if a promise was missed; otherwise the exit code is 0, because this is a report
//   --quick   a tenth of the rounds, for a first look
//   --only M  one measure: paced, back-to-back, create, rate, output, stdin, memory or size (all on local), native
//             (creation beside bwrap and others), native-warm, native-rate, native-memory, pool, thousand, layers
//             (snapshots, forks, checkpoints, an image of 20 layers) unpack (beside tar), engines (docker
//             and podman sandboxes beside their own exec and run) gvisor (beside runsc exec), microvm or python
//             (the terminal tool beside subprocess.run)

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "helpers/home.h"
#include "measures.h"

namespace {

using namespace cove::bench;

struct Measure {
  std::string_view name;
  std::vector<Row> (*run)(Effort);
};
constexpr std::array<Measure, 20> kMeasures{{{"paced", paced_latency},
                                             {"back-to-back", back_to_back_latency},
                                             {"create", first_command},
                                             {"rate", commands_per_second},
                                             {"output", output_throughput},
                                             {"stdin", stdin_throughput},
                                             {"memory", [](Effort) { return idle_memory(); }},
                                             {"size", [](Effort) { return guest_size(); }},
                                             {"native", native_create},
                                             {"native-warm", native_warm},
                                             {"native-rate", native_commands_per_second},
                                             {"native-memory", [](Effort) { return native_idle_memory(); }},
                                             {"pool", pool},
                                             {"thousand", thousand},
                                             {"layers", layers},
                                             {"unpack", unpacking},
                                             {"engines", engines},
                                             {"gvisor", gvisor_commands},
                                             {"microvm", microvm},
                                             {"python", python_terminal}}};

std::vector<Row> measure(std::string_view only, Effort effort) {
  std::vector<Row> all;
  for (const Measure& measure : kMeasures) {
    if (!only.empty() && only != measure.name) continue;
    for (Row& row : measure.run(effort)) all.push_back(std::move(row));
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  bool json = false, check = false;
  Effort effort;
  std::string only;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--json")
      json = true;
    else if (argument == "--check")
      check = true;
    else if (argument == "--quick")
      effort.factor = 0.1;
    else if (argument == "--only" && i + 1 < argc)
      only = argv[++i];
    else
      return std::fprintf(stderr, "usage: cove-bench [--json] [--check] [--quick] [--only MEASURE]\n"), 2;
  }
  // Login shells on both sides read the same start-up files: none but the machine's own.
  setenv("HOME", cove::testing_helpers::home().make_directory("home").c_str(), 1);
  const auto rows = measure(only, effort);
  if (rows.empty()) return std::fprintf(stderr, "cove-bench: no measure is called %s\n", only.c_str()), 2;
  json ? print_json(rows) : print_table(rows);
  bool kept = true;
  for (const Row& row : rows) kept = kept && row.kept();
  return check && !kept ? 1 : 0;
}
