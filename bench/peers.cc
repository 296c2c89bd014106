#include <optional>

#include "client/sandbox_pool.h"
#include "helpers/process.h"
#include "measures.h"

namespace cove::bench {
namespace {

const std::vector<std::string> kBash = {"bash", "-c", "true"};

std::vector<std::string> with_bash(std::vector<std::string> argv) {
  argv.insert(argv.end(), kBash.begin(), kBash.end());
  return argv;
}

// Another sandbox that runs the same command.
struct Peer {
  std::string name;
  std::vector<std::string> argv;
  Promise promise = {};
  std::string why_not = {};
  Samples samples = {};
};

Peer made_of(std::string name, std::vector<std::string> argv, Promise promise = {}) {
  Peer peer{std::move(name), with_bash(std::move(argv)), promise};
  std::string ignored;
  if (!answers({"sh", "-c", "command -v " + peer.argv[0]}, &ignored))
    peer.why_not = peer.argv[0] + " is not installed";
  else if (!answers(peer.argv))
    peer.why_not = "it does not run here";
  return peer;
}

// A container engine, and an image that it has already: nothing is downloaded.
struct Engine {
  std::string name, image, why_not;
};

Engine find_engine(const std::string& name) {
  Engine engine{name, "", ""};
  if (!answers({"sh", "-c", "command -v " + name})) {
    engine.why_not = name + " is not installed";
  } else if (!answers({name, "info"})) {
    engine.why_not = name + " is installed, but does not answer: its daemon does not run";
  } else if (std::string ids; !answers({name, "images", "-q"}, &ids) || ids.empty()) {
    engine.why_not = name + " has no image";
  } else {
    engine.image = ids.substr(0, ids.find('\n'));
  }
  return engine;
}

Peer run_in(const Engine& engine) {
  const std::string name = engine.name + " run";
  if (!engine.why_not.empty()) return {name, {}, {}, engine.why_not};
  return made_of(name, {engine.name, "run", "--rm", "--network", "none", engine.image});
}

std::vector<Row> rows_beside(const std::string& what, const Samples& ours, const std::vector<Peer>& peers) {
  std::vector<Row> rows;
  for (const Peer& peer : peers) {
    if (peer.why_not.empty()) {
      rows.push_back(row(what, ours, peer.name, peer.samples.p50(), peer.promise));
    } else {
      rows.push_back({what + ", " + peer.name, 0, "", "", 0, {}, {}, peer.why_not});
    }
  }
  return rows;
}

void time_peers(std::vector<Peer>& peers) {
  for (Peer& peer : peers) {
    if (!peer.why_not.empty()) continue;
    pause_between();
    peer.samples.time([&] { spawn_and_wait(peer.argv); });
  }
}

// A container that stays, for `exec`.
class Container {
 public:
  explicit Container(const Engine& engine) : engine_(engine.name) {
    if (answers({engine_, "run", "-d", "--rm", "--network", "none", engine.image, "sleep", "3600"}, &id_))
      id_.erase(id_.find_last_not_of('\n') + 1);
    else
      id_.clear();
  }
  Container(const Container&) = delete;
  Container& operator=(const Container&) = delete;
  ~Container() {
    if (!id_.empty()) answers({engine_, "rm", "-f", id_});
  }
  const std::string& id() const { return id_; }

 private:
  std::string engine_, id_;
};

Peer exec_in(const Engine& engine, std::optional<Container>& container) {
  const std::string name = engine.name + " exec";
  if (!engine.why_not.empty()) return {name, {}, {}, engine.why_not};
  container.emplace(engine);
  return made_of(name, {engine.name, "exec", container->id()});
}

}  // namespace

std::vector<Row> native_create(Effort effort) {
  std::vector<Peer> peers = {
      made_of("bwrap --unshare-all",
              {"bwrap", "--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"},
              at_most(0.75)),
      made_of("unshare -Urpfm", {"unshare", "-Urpfm", "--mount-proc"}), run_in(find_engine("docker")),
      run_in(find_engine("podman"))};
  run_true(*std::make_unique<Sandbox>(make_sandbox(native_spec())));  // the first one makes the host image
  Samples create, both, remove;
  for (int i = 0; i < effort.times(200); ++i) {
    time_peers(peers);
    pause_between();
    const SandboxSpec spec = native_spec();
    const auto begin = Clock::now();
    std::optional<Sandbox> sandbox = make_sandbox(spec);
    create.add(Clock::now() - begin);
    run_true(*sandbox);
    both.add(Clock::now() - begin);
    remove.time([&] { sandbox.reset(); });
  }
  auto rows = rows_beside("create and first command, native", both, peers);
  rows.push_back(row("create, native", create));
  rows.push_back(row("remove, native", remove));
  return rows;
}

std::vector<Row> pool(Effort effort) {
  constexpr std::size_t kSize = 4;
  SandboxSpec spec = native_spec();
  spec.name.clear();
  SandboxPool pool(spec, kSize);
  Samples taken;
  for (int i = 0; i < effort.times(100); ++i) {
    if (!testing_helpers::eventually([&] { return pool.ready() == kSize; }, testing_helpers::Seconds(60)))
      give_up("the pool does not fill");
    pause_between();
    const auto begin = Clock::now();
    auto sandbox = pool.take();
    if (!sandbox) give_up(sandbox.error().text());
    run_true(*sandbox);
    taken.add(Clock::now() - begin);
  }
  Row all = row("take from a pool and first command, native", taken, "", 0, at_most(1));
  return {all};
}

std::vector<Row> native_warm(Effort effort) {
  Sandbox native = make_sandbox(native_spec()), local = make_sandbox();
  std::optional<Container> docker, podman;
  std::vector<Peer> peers = {made_of("bash -c true", {}, at_most(0.5)), exec_in(find_engine("docker"), docker),
                             exec_in(find_engine("podman"), podman)};
  Samples ours, theirs;
  for (int i = 0; i < effort.times(300); ++i) {
    pause_between();
    ours.time([&] { run_true(native); });
    pause_between();
    theirs.time([&] { run_true(local); });
    time_peers(peers);
  }
  auto rows = rows_beside("true, native, paced", ours, peers);
  rows.insert(rows.begin(), row("true, native, paced", ours, "the same on local", theirs.p50(), at_most(1.1)));
  return rows;
}

}  // namespace cove::bench
