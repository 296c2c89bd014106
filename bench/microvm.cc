// Machines: the first of its kind, those that follow, their commands, copies and memory.

#include <filesystem>

#include "backend/microvm/line.h"
#include "backend/table.h"
#include "client/sandbox_pool.h"
#include "helpers/home.h"
#include "helpers/process.h"
#include "measures.h"

namespace cove::bench {
namespace {

using namespace std::chrono_literals;
using namespace testing_helpers;

constexpr int kIdle = 8, kForks = 4;

SandboxSpec small(const std::string& root) {
  SandboxSpec spec = native_spec();
  spec.backend = "microvm";
  spec.image = root;
  spec.memory_bytes = std::uint64_t{256} << 20;
  return spec;
}

std::uint64_t memory_of(const Sandbox& sandbox) {
  const std::string lock = slurp(home().path() + "/sandboxes/" + sandbox.name() + "/lock");
  const auto keeper = static_cast<pid_t>(std::atoi(lock.c_str()));
  std::uint64_t bytes = held_by(keeper).pss_bytes;
  for (const pid_t pid : descendants_of(keeper)) bytes += held_by(pid).pss_bytes;
  return bytes;
}

// QEMU with the kernel alone, which finds no root and ends: what a boot costs without any of ours.
std::vector<std::string> qemu_by_hand() {
  microvm::LineSpec line;
  const auto accel = microvm::choose_accel(home().path() + "/cache/microvm", "");
  if (accel) line.accel = *accel;
  std::string kernel;
  for (const auto& entry : std::filesystem::directory_iterator(home().path() + "/cache/microvm/kernels"))
    if (entry.path().extension().empty()) kernel = entry.path();
  std::vector<std::string> words{"/usr/bin/qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none"};
  words.insert(words.end(), {"-no-reboot", "-M", "microvm", "-m", "256M", "-serial", "null", "-kernel", kernel});
  words.insert(words.end(), {"-accel", line.accel.kvm ? "kvm" : "tcg,tb-size=128,thread=single", "-cpu"});
  words.insert(words.end(), {line.accel.kvm ? "host" : "qemu64", "-append", microvm::kernel_line(line)});
  return words;
}

// Until the first command has run, in one that was made before it was needed.
Samples pooled(SandboxSpec spec, int times) {
  Samples all;
  spec.name.clear();
  SandboxPool pool(spec, 1);
  for (int i = 0; i < times; ++i) {
    const Deadline deadline = Deadline::after(60s);
    while (pool.ready() == 0 && !deadline.passed()) pause_between();
    std::optional<Sandbox> one;
    all.time([&] {
      auto taken = pool.take();
      if (!taken) give_up(taken.error().text());
      run_true(one.emplace(std::move(*taken)));
    });
  }
  return all;
}

Samples forked(Sandbox& sandbox, int times) {
  Samples all;
  for (int i = 0; i < times; ++i) {
    const auto begun = Clock::now();
    const auto forks = sandbox.fork(kForks, {}, Saved::memory);
    if (!forks) give_up(forks.error().text());
    all.add(Milliseconds(Clock::now() - begun) / kForks);
  }
  return all;
}

}  // namespace

std::vector<Row> microvm(Effort effort) {
  const auto backend = find_backend("microvm");
  const Probe probe = backend ? (*backend)->probe(Deadline::after(10s)) : Probe();
  if (!probe.usable) return {{"microvm", 0, "", "", 0, {}, {}, probe.why_not}};
  const std::string root = home().make_directory("bench-root");
  spawn_and_wait({COVE_BENCH_MAKE_ROOT, root});
  SandboxSpec spec = small(root), fresh = small(root);
  fresh.set_option("fresh", "true");
  Sandbox first = make_sandbox(spec);  // makes what all others use
  run_true(first);
  Samples boot, restore, shell, program, by_hand;
  const auto qemu = qemu_by_hand();
  const auto begin = [](Samples& into, SandboxSpec of) {
    of.name.clear();
    into.time([&] {
      Sandbox one = make_sandbox(of);
      run_true(one);
    });
  };
  for (int i = 0; i < effort.times(10); ++i) {
    begin(restore, spec);
    begin(boot, fresh);
    by_hand.time([&] { spawn_and_wait(qemu); });
  }
  const Samples from_pool = pooled(spec, effort.times(10)), forks = forked(first, effort.times(5));
  for (int i = 0; i < effort.times(100); ++i) {
    pause_between();
    shell.time([&] { run_true(first); });
  }
  // Apart from those: after each of them the next shell is made ready, and there is one processor.
  for (int i = 0; i < effort.times(100); ++i) {
    pause_between();
    program.time([&] { [[maybe_unused]] const auto ran = first.collect({.argv = {"/usr/bin/busybox", "true"}}); });
  }
  std::vector<Sandbox> idle;
  for (int i = 0; i < kIdle; ++i) {
    SandboxSpec of = spec;
    of.name.clear();
    idle.push_back(make_sandbox(of));
  }
  std::uint64_t bytes = 0;
  for (const Sandbox& one : idle) bytes += memory_of(one);
  std::vector<Row> rows{row("create + true, microvm restored", restore, "booted", boot.p50(), at_most(0.2)),
                        row("create + true, microvm booted", boot, "qemu by hand", by_hand.p50()),
                        row("take + true, microvm pool", from_pool, "", 0, at_most(60)),
                        row("fork with memory, microvm, each of 4", forks, "", 0, at_most(400)),
                        row("true, microvm, paced", shell, "", 0, at_most(30)),
                        row("busybox true, microvm, paced", program, "", 0, at_most(8))};
  rows.push_back(
      {"PSS of one of 8 idle microvms", static_cast<double>(bytes) / kIdle / (1 << 20), "MiB", "", 0, at_most(40)});
  return rows;
}

}  // namespace cove::bench
