// Containers beside the engines' own ways: exec for a command, run for a sandbox. Each engine is started for the
// occasion, with a storage of its own.

#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>

#include "helpers/home.h"
#include "measures.h"

namespace cove::bench {
namespace {

using testing_helpers::home;

class Engine {
 public:
  explicit Engine(std::string kind) : kind_(std::move(kind)), folder_(home().make_directory("bench-" + kind_)) {
    setenv("DOCKER_HOST", ("unix://" + folder_ + "/docker.sock").c_str(), 1);
    setenv("CONTAINERS_CONF", (folder_ + "/containers.conf").c_str(), 1);
    setenv("CONTAINERS_STORAGE_CONF", (folder_ + "/storage.conf").c_str(), 1);
    if (answers({COVE_BENCH_ENGINES, "up", kind_, folder_})) return;
    std::ostringstream why;
    why << std::ifstream(folder_ + "/why-not").rdbuf();
    why_not_ = why.str().empty() ? kind_ + " could not be started" : why.str();
  }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine() { answers({COVE_BENCH_ENGINES, "down", kind_, folder_}); }

  const std::string& why_not() const { return why_not_; }
  SandboxSpec spec() const {
    SandboxSpec spec = native_spec();
    spec.backend = kind_;
    spec.image = "cove-test:full";
    return spec;
  }
  // What people type; podman wants to raise limits that not everybody may.
  std::vector<std::string> run(const std::string& name) const {
    std::vector<std::string> argv{kind_, "run", "--detach", "--rm", "--init", "--network", "none", "--name", name};
    if (kind_ == "podman") argv.insert(argv.end(), {"--ulimit", "nofile=10000:10000", "--ulimit", "nproc=10000:10000"});
    argv.insert(argv.end(), {"cove-test:full", "sleep", "3600"});
    return argv;
  }
  void remove(const std::string& name) const { answers({kind_, "rm", "--force", name}); }

 private:
  std::string kind_, folder_, why_not_;
};

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
      exec.time([&] { spawn_and_wait({kind, "exec", "peer", "bash", "-c", "true"}); });
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
