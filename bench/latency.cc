#include "helpers/home.h"
#include "measures.h"

namespace cove::bench {
namespace {

const std::vector<std::string> kSh = {"sh", "-c", "true"};

}  // namespace

std::vector<Row> paced_latency(Effort effort) {
  // Each its own: a shell is prepared for the pipes that the last command wanted.
  Sandbox sandbox = make_sandbox(), for_program = make_sandbox();
  const std::vector<std::string> cove_sh = {testing_helpers::cove_program(), "sh", for_program.name(), "true"};
  Samples library, program, bash, sh;
  for (int i = 0; i < effort.times(300); ++i) {
    for (const auto& [samples, what] :
         {std::pair<Samples*, std::function<void()>>{&library, [&] { run_true(sandbox); }},
          {&bash, [&] { spawn_and_wait(kBash); }},
          {&program, [&] { spawn_and_wait(cove_sh); }},
          {&sh, [&] { spawn_and_wait(kSh); }}}) {
      pause_between();
      samples->time(what);
    }
  }
  return {row("true, library, paced", library, "bash -c true", bash.p50(), at_most(0.5)),
          row("true, library, paced", library, "sh -c true", sh.p50()),
          row("true, cove sh (whole process), paced", program, "bash -c true", bash.p50(), at_most(4)),
          row("bash -c true on the host, paced", bash), row("sh -c true on the host, paced", sh)};
}

std::vector<Row> back_to_back_latency(Effort effort) {
  Sandbox sandbox = make_sandbox();
  Samples library, bash;
  for (int block = 0; block < effort.times(20); ++block) {
    for (int i = 0; i < 25; ++i) library.time([&] { run_true(sandbox); });
    for (int i = 0; i < 25; ++i) bash.time([&] { spawn_and_wait(kBash); });
  }
  return {row("true, library, back to back", library, "bash -c true", bash.p50())};
}

std::vector<Row> first_command(Effort effort) {
  Samples create, both, bash;
  for (int i = 0; i < effort.times(40); ++i) {
    bash.time([] { spawn_and_wait({"bash", "-lc", "true"}); });
    const auto begin = Clock::now();
    Sandbox sandbox = make_sandbox();
    create.add(Clock::now() - begin);
    run_true(sandbox);
    both.add(Clock::now() - begin);
  }
  return {row("create", create), row("create and first command", both, "bash -lc true", bash.p50())};
}

}  // namespace cove::bench
