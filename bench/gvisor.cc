// A sandbox on gVisor's kernel beside `runsc exec` in a container of the same program.

#include <fstream>

#include "backend/gvisor/program.h"
#include "helpers/home.h"
#include "measures.h"

namespace cove::bench {
namespace {

using testing_helpers::home;
using namespace std::chrono_literals;

constexpr const char* kConfig = R"({"ociVersion": "1.0.0",
  "process": {"args": ["/bin/sleep", "3600"], "cwd": "/", "env": ["PATH=/usr/bin:/bin"], "user": {"uid": 0, "gid": 0}},
  "root": {"path": "/", "readonly": true}, "mounts": [{"destination": "/proc", "type": "proc"}],
  "linux": {"namespaces": [{"type": "pid"}, {"type": "mount"}, {"type": "network"}, {"type": "ipc"}, {"type": "uts"}]}})";

// The whole of this machine, read-only, with a process that waits.
class Runsc {
 public:
  explicit Runsc(const gvisor::Program& program)
      : words_{program.path,     "--root",           home().make_directory("bench-runsc"),
               "--network=none", "--ignore-cgroups", "--platform=" + program.platform} {
    const std::string bundle = home().make_directory("bench-bundle");
    std::ofstream(bundle + "/config.json") << kConfig;
    spawn_and_wait(with({"run", "--detach", "--bundle", bundle, "peer"}));  // it keeps the descriptors that it is given
    runs_ = answers(exec());
  }
  Runsc(const Runsc&) = delete;
  Runsc& operator=(const Runsc&) = delete;
  ~Runsc() {
    answers(with({"kill", "peer", "KILL"}));
    answers(with({"delete", "-force", "peer"}));
  }
  bool runs() const { return runs_; }
  std::vector<std::string> exec() const { return with({"exec", "peer", "/bin/bash", "-c", "true"}); }

 private:
  std::vector<std::string> with(std::vector<std::string> more) const {
    more.insert(more.begin(), words_.begin(), words_.end());
    return more;
  }
  std::vector<std::string> words_;
  bool runs_ = false;
};

}  // namespace

std::vector<Row> gvisor_commands(Effort effort) {
  const auto program = gvisor::probe_runsc(Deadline::after(60s));
  if (!program) return {{"true, gvisor", 0, "", "", 0, {}, {}, program.error().message}};
  SandboxSpec spec = native_spec();
  spec.backend = "gvisor";
  Sandbox sandbox = make_sandbox(spec);
  const Runsc peer(*program);
  if (!peer.runs()) return {{"true, gvisor", 0, "", "", 0, {}, {}, "runsc run does not work as root here"}};
  Samples ours, exec;
  for (int i = 0; i < effort.times(100); ++i) {
    pause_between();
    ours.time([&] { run_true(sandbox); });
    exec.time([&] { spawn_and_wait(peer.exec()); });
  }
  return {row("true, gvisor, paced", ours, "runsc exec", exec.p50())};
}

}  // namespace cove::bench
