#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "helpers/home.h"
#include "measures.h"

extern char** environ;

namespace cove::bench {
namespace {

Samples samples_of(const nlohmann::json& times) {
  Samples samples;
  for (const auto& time : times) samples.add(Milliseconds(time.get<double>()));
  return samples;
}

// A Python process that measures when it is asked to.
class Partner {
 public:
  explicit Partner(int rounds) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) give_up("socketpair");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    for (const int standard : {0, 1}) posix_spawn_file_actions_adddup2(&actions, ends[1], standard);
    std::string words[] = {"python3", COVE_BENCH_SCRIPT, std::to_string(rounds), "0.01"};
    char* argv[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
    if (posix_spawnp(&pid_, argv[0], &actions, nullptr, argv, environ) != 0) pid_ = -1;
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    stream_ = fdopen(ends[0], "r+");
  }
  Partner(const Partner&) = delete;
  Partner& operator=(const Partner&) = delete;
  ~Partner() {
    std::fclose(stream_);
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
  }

  std::string line() {
    std::string text;
    for (int c = 0; (c = std::fgetc(stream_)) != EOF && c != '\n';) text += static_cast<char>(c);
    return text;
  }
  Milliseconds turn() {
    std::fputc('\n', stream_);
    std::fflush(stream_);
    return Milliseconds(std::atof(line().c_str()));
  }

 private:
  pid_t pid_ = -1;
  std::FILE* stream_ = nullptr;
};

Sandbox sandbox_of_task() {
  for (const auto& entry : std::filesystem::directory_iterator(testing_helpers::home().path() + "/sandboxes")) {
    if (!entry.path().filename().string().starts_with("task-")) continue;
    if (auto opened = Sandbox::open(entry.path().filename())) return std::move(*opened);
  }
  give_up("the task has no sandbox");
}

}  // namespace

// What a Python caller pays on top is the difference to the library in the same sandbox, by turns.
std::vector<Row> python_terminal(Effort effort) {
  Row missing;
  missing.what = "terminal_tool(\"true\"), native, paced";
  setenv("COVE_LIBRARY", COVE_BENCH_LIBRARY, 0);
  setenv("PYTHONPATH", COVE_BENCH_PYTHON, 1);
  setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
  const int rounds = effort.times(200);
  Partner python(rounds);
  const auto times = nlohmann::json::parse(python.line(), nullptr, false);
  if (!times.is_object()) {
    missing.not_measured = "python3 cannot run it here";
    return {missing};
  }
  Sandbox sandbox = sandbox_of_task();
  Samples library, python_too;
  for (int i = 0; i < rounds; ++i) {
    pause_between();
    library.time([&] {
      if (const auto ran = sandbox.sh("true"); !ran) give_up(ran.error().text());
    });
    pause_between();
    python_too.add(python.turn());
  }
  const Samples tool = samples_of(times["tool"]), bare = samples_of(times["subprocess"]);
  Row overhead;
  overhead.what = "... on top of the C++ library";
  overhead.value = python_too.p50() - library.p50();
  overhead.unit = "ms";
  overhead.promise = at_most(0.3);
  return {row(missing.what, tool, "subprocess.run([\"bash\", \"-c\", \"true\"])", bare.p50(), at_most(0.6)), overhead};
}

}  // namespace cove::bench
