// cove-bench: what Cove promises about speed and size, measured in one run beside the bare thing.
//   --json    one JSON array instead of the table
//   --check   exit with 1 if a promise was missed; otherwise the exit code is 0, because this is a report
//   --quick   a tenth of the rounds, for a first look

#include <cstdio>
#include <cstdlib>
#include <string>

#include "helpers/home.h"
#include "measures.h"

namespace {

using namespace cove::bench;

template <class... Measure>
std::vector<Row> measure_all(Measure... measures) {
  std::vector<Row> all;
  const auto add = [&](std::vector<Row> rows) { all.insert(all.end(), rows.begin(), rows.end()); };
  (add(measures()), ...);
  return all;
}

std::vector<Row> everything(Effort effort) {
  return measure_all([&] { return paced_latency(effort); }, [&] { return back_to_back_latency(effort); },
                     [&] { return first_command(effort); }, [&] { return commands_per_second(effort); },
                     [&] { return output_throughput(effort); }, [&] { return stdin_throughput(effort); },
                     [] { return idle_memory(); }, [] { return guest_size(); });
}

}  // namespace

int main(int argc, char** argv) {
  bool json = false, check = false;
  Effort effort;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--json")
      json = true;
    else if (argument == "--check")
      check = true;
    else if (argument == "--quick")
      effort.factor = 0.1;
    else
      return std::fprintf(stderr, "usage: cove-bench [--json] [--check] [--quick]\n"), 2;
  }
  // Login shells on both sides read the same start-up files: none but the machine's own.
  setenv("HOME", cove::testing_helpers::home().make_directory("home").c_str(), 1);
  const auto rows = everything(effort);
  json ? print_json(rows) : print_table(rows);
  bool kept = true;
  for (const Row& row : rows) kept = kept && row.kept();
  return check && !kept ? 1 : 0;
}
