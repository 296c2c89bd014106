// Containers beside the engines' own ways: exec for a command, run for a sandbox. Each engine is started for the
// occasion, with a storage of its own.

#include <optional>

#include "engine.h"
#include "measures.h"

namespace cove::bench {
namespace {

std::vector<Row> measure(const std::string& kind, Effort effort) {
  const Engine engine(kind);
  if (!engine.why_not().empty()) return {{"true, " + kind, 0, "", "", 0, {}, {}, engine.why_not()}};
  Samples ours, native_command, exec, create, run;
  {
    Sandbox sandbox = make_sandbox(engine.spec()), native = make_sandbox(native_spec());
    if (!answers(engine.run("peer"))) give_up(kind + " run does not work");
    for (int i = 0; i < effort.times(100); ++i) {
      pause_between();
      ours.time([&] { run_true(sandbox); });
      pause_between();
      native_command.time([&] { run_true(native); });
      exec.time([&] { spawn_and_wait(engine.exec("peer")); });
    }
    engine.remove("peer");
  }
  for (int i = 0; i < effort.times(20); ++i) {
    std::optional<Sandbox> sandbox;
    create.time([&] { sandbox.emplace(make_sandbox(engine.spec())); });
    sandbox.reset();
    run.time([&] {
      if (!answers(engine.run("peer"))) give_up(kind + " run does not work");
    });
    engine.remove("peer");
  }
  return {row("true, " + kind + ", paced", ours, kind + " exec", exec.p50(), at_most(0.02)),
          row("true, " + kind + ", paced", ours, "the same on native", native_command.p50(), at_most(2)),
          row("create, " + kind, create, kind + " run -d", run.p50(), at_most(1.15))};
}

}  // namespace

std::vector<Row> engines(Effort effort) {
  std::vector<Row> rows = measure("docker", effort);
  for (Row& row : measure("podman", effort)) rows.push_back(std::move(row));
  return rows;
}

}  // namespace cove::bench
