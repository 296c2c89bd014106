#include <cstdlib>
#include <nlohmann/json.hpp>

#include "measures.h"

namespace cove::bench {
namespace {

Samples samples_of(const nlohmann::json& times) {
  Samples samples;
  for (const auto& time : times) samples.add(Milliseconds(time.get<double>()));
  return samples;
}

}  // namespace

// The same command by this process and the library in between: what a Python caller pays on top is the difference.
std::vector<Row> python_terminal(Effort effort) {
  Row missing;
  missing.what = "terminal_tool(\"true\"), native, paced";
  setenv("COVE_LIBRARY", COVE_BENCH_LIBRARY, 0);
  setenv("PYTHONPATH", COVE_BENCH_PYTHON, 1);
  setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
  Sandbox sandbox = make_sandbox(native_spec());
  Samples library;
  const int rounds = effort.times(200);
  for (int i = 0; i < rounds; ++i) {
    pause_between();
    library.time([&] { run_true(sandbox); });
  }
  std::string out;
  if (!answers({"python3", COVE_BENCH_SCRIPT, std::to_string(rounds), "0.01"}, &out)) {
    missing.not_measured = "python3 cannot run it here";
    return {missing};
  }
  const auto times = nlohmann::json::parse(out, nullptr, false);
  if (!times.is_object()) give_up("the Python benchmark answered: " + out.substr(0, 200));
  const Samples alone = samples_of(times["alone"]), tool = samples_of(times["tool"]);
  const Samples bare = samples_of(times["subprocess"]);
  Row overhead;
  overhead.what = "... on top of the C++ library";
  overhead.value = alone.p50() - library.p50();
  overhead.unit = "ms";
  overhead.promise = at_most(0.3);
  return {row(missing.what, tool, "subprocess.run([\"bash\", \"-c\", \"true\"])", bare.p50(), at_most(0.6)), overhead};
}

}  // namespace cove::bench
