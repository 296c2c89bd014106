#include <functional>
#include <optional>

#include "client/sandbox_pool.h"
#include "engine.h"
#include "helpers/home.h"
#include "helpers/process.h"
#include "measures.h"

namespace cove::bench {
namespace {

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

// Beside an engine's own way to run one command, in a container of its own or in one that stays. Engines are started
// for it, one after the other, when everything else has been measured.
std::vector<Row> beside_engines(const std::string& what, const std::string& way, int rounds,
                                const std::function<void()>& ours) {
  std::vector<Row> rows;
  for (const char* kind : {"docker", "podman"}) {
    const Engine engine(kind);
    Peer peer{kind + (" " + way), way == "run" ? engine.run_once() : engine.exec("peer"), {}, engine.why_not()};
    if (peer.why_not.empty() && way == "exec" && !answers(engine.run("peer"))) peer.why_not = "it does not run here";
    if (peer.why_not.empty() && !answers(peer.argv)) peer.why_not = "it does not run here";
    std::vector<Peer> peers{std::move(peer)};
    Samples samples;
    for (int i = 0; i < rounds && peers[0].why_not.empty(); ++i) {
      time_peers(peers);
      pause_between();
      samples.time(ours);
    }
    rows.push_back(rows_beside(what, samples, peers)[0]);
    engine.remove("peer");
  }
  return rows;
}

void add(std::vector<Row>& rows, std::vector<Row> more) {
  for (Row& row : more) rows.push_back(std::move(row));
}

}  // namespace

std::vector<Row> native_create(Effort effort) {
  std::vector<Peer> peers = {
      made_of("bwrap --unshare-all",
              {"bwrap", "--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"},
              at_most(0.75)),
      made_of("unshare -Urpfm", {"unshare", "-Urpfm", "--mount-proc"})};
  run_true(*std::make_unique<Sandbox>(make_sandbox(native_spec())));  // the first one makes the host image
  const std::vector<std::string> run{testing_helpers::cove_program(), "run", "--", "true"};
  Samples create, both, remove, program;
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
    pause_between();
    program.time([&] { spawn_and_wait(run); });
  }
  auto rows = rows_beside("create and first command, native", both, peers);
  rows.push_back(row("cove run -- true, native, to its end", program, peers[0].name, peers[0].samples.p50()));
  rows.push_back(row("create, native", create));
  rows.push_back(row("remove, native", remove));
  add(rows, beside_engines("create and first command, native", "run", effort.times(20), [] {
        Sandbox one = make_sandbox(native_spec());
        run_true(one);
      }));
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
  std::vector<Peer> peers = {made_of("bash -c true", {}, at_most(0.5))};
  Samples ours, theirs;
  const auto take_turn = [](Sandbox& sandbox, Samples& samples) {
    pause_between();
    samples.time([&] { run_true(sandbox); });
  };
  for (int i = 0; i < effort.times(300); ++i) {
    // Who comes first finds the caches as the peers have left them.
    if (i % 2 == 0) take_turn(native, ours);
    take_turn(local, theirs);
    if (i % 2 != 0) take_turn(native, ours);
    time_peers(peers);
  }
  auto rows = rows_beside("true, native, paced", ours, peers);
  rows.insert(rows.begin(), row("true, native, paced", ours, "the same on local", theirs.p50(), at_most(1.1)));
  add(rows, beside_engines("true, native, paced", "exec", effort.times(30), [&] { run_true(native); }));
  return rows;
}

}  // namespace cove::bench
