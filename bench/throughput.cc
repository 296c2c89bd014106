#include <atomic>
#include <thread>

#include "measures.h"

namespace cove::bench {
namespace {

constexpr int kThreads = 2;
constexpr std::chrono::milliseconds kSlice{500};

// How often `what(thread, turn)` can be done in one slice by kThreads threads.
int in_one_slice(const std::function<void(int, int)>& what) {
  std::atomic<int> done{0};
  const Deadline end = Deadline::after(kSlice);
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int turn = 0; !end.passed(); ++turn, ++done) what(thread, turn);
    });
  }
  threads.clear();
  return done;
}

Row rate_over(std::vector<Sandbox> sandboxes, const std::string& where, Promise promise, Effort effort) {
  for (Sandbox& sandbox : sandboxes) run_true(sandbox);
  const auto ours = [&](int thread, int turn) {
    run_true(sandboxes[static_cast<std::size_t>(turn * kThreads + thread) % sandboxes.size()]);
  };
  const auto bare = [](int, int) { spawn_and_wait({"bash", "-c", "true"}); };
  int our_count = 0, bare_count = 0;
  const int slices = effort.times(6);
  for (int slice = 0; slice < slices; ++slice) {
    our_count += in_one_slice(ours);
    bare_count += in_one_slice(bare);
  }
  const double seconds = std::chrono::duration<double>(kSlice).count() * slices;
  return {"commands/s, 2 threads, " + std::to_string(sandboxes.size()) + " sandboxes" + where,
          our_count / seconds,
          "/s",
          "fork/exec of bash -c true",
          bare_count / seconds,
          promise};
}

double megabytes_per_second(std::uint64_t bytes, const std::function<void()>& what) {
  const auto begin = Clock::now();
  what();
  return static_cast<double>(bytes) / 1e6 / std::chrono::duration<double>(Clock::now() - begin).count();
}

// The best of a few rounds on each side, taken in turn.
Row compare(const std::string& name, std::uint64_t bytes, const std::function<void()>& ours,
            const std::function<void()>& bare, Promise promise) {
  Row row{name, 0, "MB/s", "the same, plain pipe", 0, promise};
  for (int round = 0; round < 3; ++round) {
    row.value = std::max(row.value, megabytes_per_second(bytes, ours));
    row.beside_value = std::max(row.beside_value, megabytes_per_second(bytes, bare));
  }
  return row;
}

}  // namespace

std::vector<Row> commands_per_second(Effort effort) {
  std::vector<Row> rows;
  for (const std::size_t count : {1, 8, 64}) {
    std::vector<Sandbox> sandboxes;
    for (std::size_t i = 0; i < count; ++i) sandboxes.push_back(make_sandbox());
    rows.push_back(rate_over(std::move(sandboxes), "", count == 64 ? at_least(0.7) : Promise{}, effort));
  }
  return rows;
}

std::vector<Row> native_commands_per_second(Effort effort) {
  std::vector<Row> rows;
  for (const std::size_t count : {1, 8, 64}) {
    std::vector<Sandbox> sandboxes;
    for (std::size_t i = 0; i < count; ++i) sandboxes.push_back(make_sandbox(native_spec()));
    rows.push_back(rate_over(std::move(sandboxes), ", native", {}, effort));
  }
  return rows;
}

std::vector<Row> output_throughput(Effort effort) {
  const auto bytes =
      static_cast<std::uint64_t>(static_cast<double>(std::uint64_t{1} << 30) * std::min(1.0, effort.factor));
  const std::vector<std::string> producer = {"head", "-c", std::to_string(bytes), "/dev/zero"};
  Sandbox sandbox = make_sandbox();
  const auto ours = [&] {
    std::uint64_t seen = 0;
    const auto count = [&](Stream, std::string_view piece) { seen += piece.size(); };
    const auto outcome = sandbox.run({.script = "head -c " + std::to_string(bytes) + " /dev/zero"}, {.output = count});
    if (!outcome) give_up(outcome.error().text());
    if (seen != bytes) give_up("output: " + std::to_string(seen) + " bytes of " + std::to_string(bytes));
  };
  const auto bare = [&] {
    if (read_through_pipe(producer) != bytes) give_up("pipe: bytes are missing");
  };
  return {compare("output of " + std::to_string(bytes >> 20) + " MiB", bytes, ours, bare, at_least(0.5))};
}

std::vector<Row> stdin_throughput(Effort) {
  // NOLINTNEXTLINE(bugprone-string-constructor): large is the point
  const std::string bytes(100'000'000, 'x');
  Sandbox sandbox = make_sandbox();
  const auto ours = [&] {
    const auto outcome = sandbox.run({.script = "cat >/dev/null"}, {.stdin_bytes = bytes});
    if (!outcome) give_up(outcome.error().text());
  };
  const auto bare = [&] { write_through_pipe({"sh", "-c", "exec cat >/dev/null"}, bytes); };
  return {compare("stdin of 100 MB to cat", bytes.size(), ours, bare, {})};
}

}  // namespace cove::bench
