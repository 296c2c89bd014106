#include "engine.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "helpers/home.h"

namespace cove::bench {

using testing_helpers::home;

Engine::Engine(std::string kind) : kind_(std::move(kind)), folder_(home().make_directory("bench-" + kind_)) {
  setenv("DOCKER_HOST", ("unix://" + folder_ + "/docker.sock").c_str(), 1);
  setenv("CONTAINERS_CONF", (folder_ + "/containers.conf").c_str(), 1);
  setenv("CONTAINERS_STORAGE_CONF", (folder_ + "/storage.conf").c_str(), 1);
  if (answers({COVE_BENCH_ENGINES, "up", kind_, folder_})) return;
  std::ostringstream why;
  why << std::ifstream(folder_ + "/why-not").rdbuf();
  why_not_ = why.str().substr(0, why.str().find('\n'));
  if (why_not_.empty()) why_not_ = kind_ + " could not be started";
}

Engine::~Engine() { answers({COVE_BENCH_ENGINES, "down", kind_, folder_}); }

SandboxSpec Engine::spec() const {
  SandboxSpec spec = native_spec();
  spec.backend = kind_;
  spec.image = "cove-test:full";
  return spec;
}

// podman wants to raise limits that not everybody may.
std::vector<std::string> Engine::run_words() const {
  std::vector<std::string> argv{kind_, "run", "--rm", "--network", "none"};
  if (kind_ == "podman") argv.insert(argv.end(), {"--ulimit", "nofile=10000:10000", "--ulimit", "nproc=10000:10000"});
  return argv;
}

std::vector<std::string> Engine::run(const std::string& name) const {
  std::vector<std::string> argv = run_words();
  argv.insert(argv.end(), {"--detach", "--init", "--name", name, "cove-test:full", "sleep", "3600"});
  return argv;
}

std::vector<std::string> Engine::run_once() const {
  std::vector<std::string> argv = run_words();
  argv.insert(argv.end(), {"cove-test:full", "bash", "-c", "true"});
  return argv;
}

void Engine::remove(const std::string& name) const { answers({kind_, "rm", "--force", name}); }

}  // namespace cove::bench
